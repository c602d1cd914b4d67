package odradek

import (
	"encoding/json"
	"errors"
	"net"
	"testing"
)

func TestATopicIsThereAndItsOwn(t *testing.T) {
	broker := Start(t, "num.partitions=3")
	// Here your client connects to broker.Bootstrap.
	connection, err := net.Dial("tcp", broker.Bootstrap)
	check(t, err)
	connection.Close()
	first, second := broker.Topic(t, 2), broker.Topic(t, 1)
	if first == second {
		t.Errorf("both are %s", first)
	}
	items, err := broker.Ask("topics.create", map[string]any{
		"topics": []any{map[string]any{"name": "with-defaults"}},
	})
	check(t, err)
	var made struct {
		Topic      string
		Partitions int
	}
	check(t, json.Unmarshal(items[0], &made))
	if made.Topic != "with-defaults" || made.Partitions != 3 {
		t.Errorf("made %+v", made)
	}
}

func TestWhatIsRefusedIsAnError(t *testing.T) {
	broker := Start(t)
	topics := map[string]any{"topics": []string{"nobodys"}}
	_, err := broker.Ask("topics.delete", topics)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Word != "UNKNOWN_TOPIC_OR_PARTITION" {
		t.Errorf("got %v", err)
	}
}
