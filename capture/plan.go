package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Recording is what `stepline record --template` takes of a template: the recorder's settings, with the template's settings in
// them as <<name>>. The zero value of a field is the recorder's default.
type Recording struct {
	Steps  string `toml:"steps" yaml:"steps,omitempty"`
	Warmup string `toml:"warmup" yaml:"warmup,omitempty"`
	// Output is the folder to write to; with a Tool, the stem of its files.
	Output string `toml:"output" yaml:"output,omitempty"`
	// Command is what is run where the user names nothing.
	Command string `toml:"command" yaml:"command,omitempty"`
	// Environment is what the command finds in its environment besides, as NAME=value.
	Environment []string `toml:"environment" yaml:"environment,omitempty"`
	Shapes      bool     `toml:"shapes" yaml:"shapes,omitempty"`
	NoFrames    bool     `toml:"no-frames" yaml:"no-frames,omitempty"`
	Snapshot    bool     `toml:"snapshot" yaml:"snapshot,omitempty"`
	// Tool is the profiler's command line that the command is put behind, where it is not torch's own profiler; After is run
	// when the command has ended.
	Tool  string `toml:"tool" yaml:"tool,omitempty"`
	After string `toml:"after" yaml:"after,omitempty"`
}

// Plan is a recording with every setting filled in. Steps is 0 and Warmup −1 where the template does not say.
type Plan struct {
	Steps, Warmup              int
	Output, Load               string
	Command, Environment       []string
	Shapes, NoFrames, Snapshot bool
	// Tool and After are command lines of another profiler; empty for torch's own.
	Tool, After []string
}

// Plan fills a template in for the recorder. With ownCommand the user's command is run instead of the template's, and a setting
// that only the template's command has is an error.
func (t *Template) Plan(settings map[string]string, ownCommand bool) (*Plan, error) {
	values, err := t.values(settings)
	if err != nil {
		return nil, err
	}
	filled := t.fill(values)
	r := filled.Record
	if ownCommand {
		for name := range settings {
			if !t.Record.uses(name) {
				return nil, fmt.Errorf("--set %s belongs to the template's own command, and the command after `--` is yours: set it there", name)
			}
		}
	}
	words := func(line string) []string { // a value is never more than one word
		list := strings.Fields(line)
		for i, word := range list {
			list[i] = replaced(word, values)
		}
		return list
	}
	p := &Plan{
		Output: r.Output, Load: filled.Load, Command: words(t.Record.Command), Environment: r.Environment,
		Shapes: r.Shapes, NoFrames: r.NoFrames, Snapshot: r.Snapshot, Tool: words(t.Record.Tool), After: words(t.Record.After), Warmup: -1,
	}
	for _, number := range []struct {
		name, text string
		into       *int
	}{{"steps", r.Steps, &p.Steps}, {"warmup", r.Warmup, &p.Warmup}} {
		if number.text == "" {
			continue
		}
		v, err := strconv.Atoi(number.text)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("--set %s=%s: it is a number of steps", number.name, number.text)
		}
		*number.into = v
	}
	return p, nil
}

// uses tells whether a setting is in anything but the command.
func (r *Recording) uses(setting string) bool {
	mark := "<<" + setting + ">>"
	return slices.ContainsFunc(append([]string{r.Steps, r.Warmup, r.Output, r.Tool, r.After}, r.Environment...), func(text string) bool {
		return strings.Contains(text, mark)
	})
}
