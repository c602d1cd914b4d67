// A member of a group, by franz-go: it prints the values that it reads, one a line.
//
//	consumer ADDRESS TOPIC GROUP COUNT    the broker assigns (KIP-848); commits
//	share ADDRESS TOPIC GROUP COUNT       a share group (KIP-932)
//
// Of a share group a value that ends with "!" is given back when it comes for the first
// time, and printed with how often it was delivered.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	kind, address, topic, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	options := []kgo.Opt{kgo.SeedBrokers(address), kgo.ConsumeTopics(topic)}
	if kind == "share" {
		options = append(options, kgo.ShareGroup(group))
	} else {
		options = append(
			options,
			kgo.ConsumerGroup(group),
			kgo.ServerSideBalancer(),
			kgo.Balancers(kgo.RangeBalancer()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.DisableAutoCommit(),
		)
	}
	client, err := kgo.NewClient(options...)
	check(err)
	context, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for count > 0 {
		fetches := client.PollFetches(context)
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			if kind == "share" {
				if strings.HasSuffix(string(record.Value), "!") {
					if record.DeliveryCount() == 1 {
						record.Ack(kgo.AckRelease)
						return
					}
					fmt.Printf("%s %d\n", record.Value, record.DeliveryCount())
				} else {
					fmt.Println(string(record.Value))
				}
				record.Ack(kgo.AckAccept)
			} else {
				fmt.Println(string(record.Value))
			}
			count--
		})
	}
	if kind == "share" {
		check(client.FlushAcks(context))
	} else {
		check(client.CommitUncommittedOffsets(context))
	}
	client.LeaveGroup()
	client.Close()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
