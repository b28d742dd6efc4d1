package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// status is what a process reports of its recording.
type status struct {
	Outcome string `json:"outcome"` // written, watched, ranged, failed, short, foreign, skipped
	Message string `json:"message"`
	Trace   string `json:"trace"`
	Rank    *int   `json:"rank"`
	// Of a watched process: the folders of its captures still kept, and how many steps it took.
	Captures []string `json:"captures"`
	Steps    int      `json:"steps"`
}

// conclude tells what the processes recorded and turns it, and the script's exit code, into Run's error.
func conclude(options Options, control string, code int) error {
	statuses := readStatuses(control)
	var traces []string
	ranged := false
	for _, s := range statuses {
		switch s.Outcome {
		case "written":
			traces = append(traces, s.Trace)
		case "ranged":
			ranged = true
		}
	}
	slices.Sort(traces)
	if len(traces) > 0 {
		fmt.Fprintln(options.Err, "stepline record: "+summary(options.OutDir, traces))
	} else {
		_ = os.Remove(options.OutDir) // only if it is empty
	}
	switch {
	case code != 0:
		return &ExitError{Code: code}
	case len(traces) == 0 && !ranged:
		return &NothingRecordedError{Reason: whyNothing(control, statuses)}
	}
	return nil
}

func summary(folder string, traces []string) string {
	show := folder
	if len(traces) == 1 {
		show = filepath.Join(folder, traces[0])
	}
	text := fmt.Sprintf("recorded %s; see it with `stepline lines %s`", show, quoted(show))
	if len(traces) > 1 {
		text = fmt.Sprintf("recorded %d traces in %s; see them with `stepline lines %s`", len(traces), folder, quoted(folder))
	}
	if others := otherTraces(folder, traces); len(others) > 0 {
		text += fmt.Sprintf(" (the folder also holds %s of another recording; a folder is read as one run)", strings.Join(others, ", "))
	}
	return text
}

// otherTraces are traces in the folder that this run did not write.
func otherTraces(folder string, traces []string) []string {
	found, _ := filepath.Glob(filepath.Join(folder, "*.trace.json.gz"))
	var others []string
	for _, path := range found {
		if name := filepath.Base(path); !slices.Contains(traces, name) {
			others = append(others, name)
		}
	}
	return others
}

func quoted(path string) string {
	if strings.ContainsAny(path, " '\"\\$&();*?[]<>|`!#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

func readStatuses(control string) []status {
	found, _ := filepath.Glob(filepath.Join(control, "status-*.json"))
	slices.Sort(found)
	var statuses []status
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var s status
		if json.Unmarshal(text, &s) == nil {
			statuses = append(statuses, s)
		}
	}
	return statuses
}

// reason is a message without its verdict.
func reason(message string) string {
	for _, verdict := range []string{"nothing recorded: ", "not recorded: ", "not recording: "} {
		message = strings.TrimPrefix(message, verdict)
	}
	return message
}

// whyNothing is the reason in the words of the process that came nearest to recording.
func whyNothing(control string, statuses []status) string {
	for _, outcome := range []string{"failed", "foreign", "short"} {
		for _, s := range statuses {
			if s.Outcome == outcome {
				return reason(s.Message)
			}
		}
	}
	seen := func(name string) bool {
		_, err := os.Stat(filepath.Join(control, name))
		return err == nil
	}
	switch {
	case !seen("python-seen"):
		return "no Python process of the command loaded the recorder; it comes through PYTHONPATH and sitecustomize, which " +
			"`python -I`, `-E` and `-S` and programs that clear the environment shut out"
	case !seen("torch-seen"):
		return "no process of the command imported torch"
	default:
		return "no optimizer of torch.optim took a step, and nothing else marks steps"
	}
}
