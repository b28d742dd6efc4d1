package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// copies of the shipped trace in the generated one: 2 steps of 12.8 MB JSON each become 40 steps and 255 MB.
const copies = 20

// largeTrace is BIG_TRACE, or the shipped gpt trace replicated into .cache/bench.
func largeTrace() (string, error) {
	if path := os.Getenv("BIG_TRACE"); path != "" {
		return path, nil
	}
	path := filepath.Join(".cache", "bench", fmt.Sprintf("gpt-x%d.trace.json.gz", copies))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	partial := path + ".partial"
	if err := replicateFile("testdata/traces/gpt/trace.json.gz", partial, copies); err != nil {
		return "", fmt.Errorf("replicating the gpt trace: %w", err)
	}
	return path, os.Rename(partial, path)
}

func replicateFile(from, to string, times int) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zipped := gzip.NewWriter(out)
	if err := replicate(unzipped, zipped, times); err != nil {
		return err
	}
	return zipped.Close()
}

// replicate writes a trace with its events times over, one run after the other: times move on by the recorded span, and ids
// (correlation, flow, Python frame, sequence) by more than the largest there is, so that copies never link to each other.
func replicate(r io.Reader, w io.Writer, times int) error {
	var document map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&document); err != nil {
		return err
	}
	var events []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(document["traceEvents"]))
	decoder.UseNumber()
	if err := decoder.Decode(&events); err != nil {
		return err
	}
	delete(document, "traceEvents")
	span, largest := extent(events)
	if _, err := io.WriteString(w, "{\n"); err != nil {
		return err
	}
	for key, value := range document {
		name, err := json.Marshal(key)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s: %s,\n", name, value); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w, "\"traceEvents\": [\n"); err != nil {
		return err
	}
	for turn := range times {
		for i, event := range events {
			if turn > 0 && event["ph"] == "M" {
				continue // names of threads and processes are said once
			}
			if turn > 0 || i > 0 {
				if _, err := io.WriteString(w, ",\n"); err != nil {
					return err
				}
			}
			moved, err := json.Marshal(move(event, float64(turn)*span, int64(turn)*largest, turn))
			if err != nil {
				return err
			}
			if _, err := w.Write(moved); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}

// idArguments are the args that identify something within a recording.
var idArguments = []string{"correlation", "External id", "Python id", "Python parent id", "Sequence number", "Ev Idx"}

var stepName = regexp.MustCompile(`^ProfilerStep#(\d+)$`)

// extent is the time all events span, with a millisecond between copies, and one more than the largest id.
func extent(events []map[string]any) (spanUs float64, largest int64) {
	first, last := 0.0, 0.0
	seen := false
	for _, event := range events {
		start, ok := float(event["ts"])
		if !ok || event["ph"] == "M" {
			continue
		}
		duration, _ := float(event["dur"])
		if !seen || start < first {
			first = start
		}
		last, seen = max(last, start+duration), true
		for _, id := range ids(event) {
			largest = max(largest, id)
		}
	}
	return last - first + 1000, largest + 1
}

func ids(event map[string]any) []int64 {
	var list []int64
	add := func(value any) {
		if number, ok := value.(json.Number); ok {
			if id, err := number.Int64(); err == nil {
				list = append(list, id)
			}
		}
	}
	add(event["id"])
	arguments, _ := event["args"].(map[string]any)
	for _, key := range idArguments {
		add(arguments[key])
	}
	return list
}

func float(value any) (float64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}

// move is the event of a later copy. steps are renumbered as if the run had gone on.
func move(event map[string]any, byUs float64, byID int64, turn int) map[string]any {
	if turn == 0 {
		return event
	}
	moved := make(map[string]any, len(event))
	for key, value := range event {
		moved[key] = value
	}
	if start, ok := float(event["ts"]); ok {
		moved["ts"] = json.Number(strconv.FormatFloat(start+byUs, 'f', 3, 64))
	}
	shift := func(value any) any {
		if number, ok := value.(json.Number); ok {
			if id, err := number.Int64(); err == nil && id > 0 {
				return id + byID
			}
		}
		return value
	}
	if _, ok := event["id"]; ok {
		moved["id"] = shift(event["id"])
	}
	if name, ok := event["name"].(string); ok {
		if match := stepName.FindStringSubmatch(name); match != nil {
			if number, err := strconv.Atoi(match[1]); err == nil {
				moved["name"] = fmt.Sprintf("ProfilerStep#%d", number+1000*turn)
			}
		}
	}
	if arguments, ok := event["args"].(map[string]any); ok {
		copied := make(map[string]any, len(arguments))
		for key, value := range arguments {
			copied[key] = value
		}
		for _, key := range idArguments {
			if value, ok := arguments[key]; ok {
				copied[key] = shift(value)
			}
		}
		moved["args"] = copied
	}
	return moved
}
