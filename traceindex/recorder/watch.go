package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Watch says when steps are recorded, and how much of it is kept. The zero value of a field means its default.
type Watch struct {
	// When are the conditions: "nan", or "step>1.2*p95" with p50, median, mean or a time such as 250ms; any of them is
	// enough. Default: step>1.2*p95 and nan. A step is held against the Baseline last ones.
	When []string
	// Keep is how many captures are kept a process, the newest; default 5. MaxBytes is the disk space of all of them
	// together; default 1 GiB.
	Keep     int
	MaxBytes int64
	// Cooldown is the time after a capture in which no slow step and no bad loss makes another; default 1 minute, a
	// negative one means none. Captures that someone asks for are not held back.
	Cooldown time.Duration
	// Settle is how many first steps are never judged; default 10. Then Minimum steps (default 20) are timed before one is
	// judged, and the last Baseline steps (default 200) say what is usual.
	Settle, Minimum, Baseline int
	// Signal asks for a capture; default USR2, "none" for none. Its other way is a file named capture-now in the output
	// folder: each time that it is written (`touch`).
	Signal string
	// Textfile is where the live figures are kept for Prometheus' textfile collector (stepline_textfile.py); "" for nowhere.
	// Each rank of a distributed run has its own: FILE.rank3.prom.
	Textfile string
}

// triggerFile in the output folder asks for a capture whenever it is written.
const triggerFile = "capture-now"

// condition has the factor and the time as its groups; either may be empty.
var condition = regexp.MustCompile(`^(?:nan|step\s*>\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?(?:p\d{1,2}|median|mean|(\d+(?:\.\d+)?)\s*(?:us|ms|s)))$`)

// separator stands between conditions of which any is enough; they may also be texts of their own.
var separator = regexp.MustCompile(`[,|]`)

// check finds what the Python part would not take.
func (w *Watch) check() error {
	for _, text := range w.When {
		for _, part := range separator.Split(text, -1) {
			numbers := condition.FindStringSubmatch(strings.TrimSpace(part))
			if numbers == nil {
				return fmt.Errorf("%q is no condition: write nan, step>1.2*p95 (or p50, median, mean), or step>250ms (or us, s)", part)
			}
			if isZero(numbers[1]) || isZero(numbers[2]) {
				return fmt.Errorf("%q holds for every step: give a factor and a time above 0, as in step>1.2*p95 or step>250ms", part)
			}
		}
	}
	if !slices.Contains([]string{"", "USR1", "USR2", "none"}, w.Signal) {
		return fmt.Errorf("signal %s: use USR1, USR2 or none", w.Signal)
	}
	if w.Keep < 0 || w.MaxBytes < 0 || w.Settle < 0 || w.Minimum < 0 || w.Baseline < 0 {
		return fmt.Errorf("captures, bytes and steps are counted from 0 up")
	}
	return nil
}

// isZero tells whether a number of a condition is there and is 0.
func isZero(number string) bool {
	return number != "" && strings.Trim(number, "0.") == ""
}

// settings are those of the Python part (stepline_watch.SETTINGS); what is left out has its default there.
func (w *Watch) settings() map[string]any {
	s := map[string]any{}
	put := func(name string, value any, set bool) {
		if set {
			s[name] = value
		}
	}
	put("when", w.When, len(w.When) > 0)
	put("keep", w.Keep, w.Keep > 0)
	put("max_bytes", w.MaxBytes, w.MaxBytes > 0)
	put("cooldown_s", max(0, w.Cooldown.Seconds()), w.Cooldown != 0)
	put("settle", w.Settle, w.Settle > 0)
	put("minimum", w.Minimum, w.Minimum > 0)
	put("baseline", w.Baseline, w.Baseline > 0)
	put("signal", w.Signal, w.Signal != "")
	put("textfile", w.Textfile, w.Textfile != "")
	return s
}

// withTextfile is w with Textfile's full path, in a folder that is there: the script may change its own folder, and the collector
// reads only the folder it was told.
func (w *Watch) withTextfile() (*Watch, error) {
	path, err := filepath.Abs(w.Textfile)
	if err != nil {
		return nil, fmt.Errorf("textfile %s: %w", w.Textfile, err)
	}
	if !strings.HasSuffix(path, ".prom") {
		return nil, fmt.Errorf("textfile %s: its name must end in .prom, or the textfile collector does not read it", w.Textfile)
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || !folder.IsDir() {
		return nil, fmt.Errorf("textfile %s: there is no folder %s; make it, or name the textfile collector's folder", w.Textfile, filepath.Dir(path))
	}
	with := *w
	with.Textfile = path
	return &with, nil
}

// askForCapture is what a watched run does with the signal that asks for a capture: handed on, it would end a launcher such as
// torchrun, which has no handler for it; the file reaches every rank.
func (o Options) askForCapture() map[string]func() {
	if o.Watch == nil || o.Watch.Signal == "none" {
		return nil
	}
	name := o.Watch.Signal
	if name == "" {
		name = "USR2"
	}
	return map[string]func(){"SIG" + name: func() {
		path := filepath.Join(o.OutDir, triggerFile)
		now := time.Now()
		err := os.WriteFile(path, nil, 0o644)
		if err == nil {
			err = os.Chtimes(path, now, now) // an empty file written over by nothing may keep its time
		}
		if err != nil {
			fmt.Fprintf(o.Err, "stepline record: cannot ask for a capture: %v\n", err)
		}
	}}
}

// concludeWatch tells what a watched run captured. A run without a capture is a good one.
func concludeWatch(options Options, control string, code int) error {
	_ = os.Remove(filepath.Join(options.OutDir, triggerFile))
	_ = os.Remove(filepath.Join(options.OutDir, ".capture-request.json"))
	statuses := readStatuses(control)
	var captures []string
	message := ""
	for _, s := range statuses {
		if s.Outcome != "watched" {
			continue
		}
		captures = append(captures, s.Captures...)
		if message == "" {
			message = s.Message
		}
	}
	slices.Sort(captures)
	captures = slices.Compact(captures)
	switch {
	case message == "":
		_ = os.Remove(options.OutDir) // only if it is empty
		if code == 0 {
			return &NothingRecordedError{Reason: whyNothing(control, statuses)}
		}
	case len(captures) == 0:
		_ = os.Remove(options.OutDir)
		fmt.Fprintln(options.Err, "stepline record: "+message+"; nothing to capture")
	default:
		last := filepath.Join(options.OutDir, captures[len(captures)-1])
		fmt.Fprintf(options.Err, "stepline record: %s; captures kept in %s: %s; see one with `stepline lines %s`\n",
			message, options.OutDir, strings.Join(captures, ", "), quoted(last))
	}
	if code != 0 {
		return &ExitError{Code: code}
	}
	return nil
}
