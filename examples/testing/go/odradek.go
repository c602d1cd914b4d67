// Package odradek runs a Kafka broker for tests.
package odradek

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Broker is a broker in a process of its own, which ends with the test.
type Broker struct {
	// Bootstrap is its host:port, for clients.
	Bootstrap string
	// URL is where it is asked for what no client can ask.
	URL   string
	count atomic.Int64
}

// Refused says that the broker does not do what it was asked. Word is for programs.
type Refused struct {
	Word    string `json:"error"`
	Message string `json:"message"`
}

func (r *Refused) Error() string { return r.Word + ": " + r.Message }

// Start starts a broker; options are like "num.partitions=3".
func Start(t testing.TB, options ...string) *Broker {
	t.Helper()
	directory := t.TempDir()
	arguments := []string{"serve", "--port", "0", "--data-dir", filepath.Join(directory, "data")}
	for _, option := range append([]string{
		"test.control=true",
		"http.listener=127.0.0.1:0",
		"logging.format=json",
		"durability=none",
		"log.min.free.bytes=0",
		"group.initial.rebalance.delay.ms=0",
		"offsets.topic.num.partitions=1",
		"transaction.state.log.num.partitions=1",
		fmt.Sprintf("exit.with.process=%d", os.Getpid()),
	}, options...) {
		arguments = append(arguments, "-o", option)
	}
	log, err := os.Create(filepath.Join(directory, "log"))
	check(t, err)
	defer log.Close()
	command := exec.Command("odradek", arguments...)
	command.Stderr = log
	output, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the broker said:\n%s", said)
		}
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		t.Fatalf("the broker did not start:\n%s", said)
	}
	var ready struct {
		Listeners []struct {
			Host string
			Port int
		}
		HTTPPort int `json:"http_port"`
	}
	check(t, json.Unmarshal(line, &ready))
	return &Broker{
		Bootstrap: fmt.Sprintf("%s:%d", ready.Listeners[0].Host, ready.Listeners[0].Port),
		URL:       fmt.Sprintf("http://127.0.0.1:%d", ready.HTTPPort),
	}
}

// Ask sends a request and returns the items of its answer.
func (b *Broker) Ask(request string, fields any) ([]json.RawMessage, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	response, err := http.Post(b.URL+"/test/v1/"+request, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var items []json.RawMessage
	for lines := json.NewDecoder(response.Body); ; {
		var line struct {
			Item json.RawMessage
			Done bool
			Refused
		}
		if err := lines.Decode(&line); err == io.EOF {
			return items, io.ErrUnexpectedEOF // the broker ended before it had answered
		} else if err != nil {
			return items, err
		}
		switch {
		case line.Done:
			return items, nil
		case line.Word != "":
			return items, &line.Refused
		}
		items = append(items, line.Item)
	}
}

// Topic makes a topic that no other test has.
func (b *Broker) Topic(t testing.TB, partitions int) string {
	t.Helper()
	test := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	name := fmt.Sprintf("%s-%d", test, b.count.Add(1))
	topic := map[string]any{"name": name, "partitions": partitions}
	_, err := b.Ask("topics.create", map[string]any{"topics": []any{topic}})
	check(t, err)
	return name
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
