package capture

import (
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

//go:embed templates/*.toml
var files embed.FS

// Template is one way to capture a run.
type Template struct {
	Name  string `toml:"name" yaml:"name"`
	Title string `toml:"title" yaml:"title"`
	// Why says what it shows, Overhead what it costs, Load how to read the result.
	Why      string    `toml:"why" yaml:"why"`
	Overhead string    `toml:"overhead" yaml:"overhead"`
	Load     string    `toml:"load" yaml:"load"`
	Settings []Setting `toml:"settings" yaml:"settings,omitempty"`
	// Shell and Python are the command lines and the snippet, with settings as <<name>>; "" where there is none.
	Shell  string `toml:"shell" yaml:"shell,omitempty"`
	Python string `toml:"python" yaml:"python,omitempty"`
	// Record is what `stepline record --template` does.
	Record Recording `toml:"record" yaml:"record"`
}

// Setting is a value that a template leaves to the user.
type Setting struct {
	Name    string `toml:"name" yaml:"name"`
	Default string `toml:"default" yaml:"value"`
	Meaning string `toml:"meaning" yaml:"meaning"`
}

// order is that of the list: the quick screen first, then what one asks next.
var order = []string{"quick", "launch-bound", "data-loading", "memory", "compile", "ddp", "fsdp", "nccl", "nsight-systems", "nsight-compute"}

// All lists the templates.
func All() ([]Template, error) {
	entries, err := files.ReadDir("templates")
	if err != nil {
		return nil, fmt.Errorf("capture templates: %w", err)
	}
	list := make([]Template, 0, len(entries))
	for _, entry := range entries {
		data, err := files.ReadFile("templates/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("capture templates: %w", err)
		}
		var t Template
		if err := toml.Unmarshal(data, &t); err != nil {
			return nil, fmt.Errorf("capture template %s: %w", entry.Name(), err)
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Template) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Find is the template of a name; the error lists the names there are.
func Find(name string) (*Template, error) {
	list, err := All()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
		names[i] = list[i].Name
	}
	return nil, fmt.Errorf("there is no template %q; there are %s", name, strings.Join(names, ", "))
}

// Formats are what the template can be written as, the usual one first.
func (t *Template) Formats() []string {
	var formats []string
	if t.Shell != "" {
		formats = append(formats, "sh")
	}
	if t.Python != "" {
		formats = append(formats, "python")
	}
	return append(formats, "yaml")
}

var placeholder = regexp.MustCompile(`<<([a-z]+)>>`)

// Render writes the template in a format ("" for its usual one) with settings in place of their defaults: as a script with
// its explanation in comments, or as YAML with every field.
func (t *Template) Render(format string, settings map[string]string) (string, error) {
	if format == "" {
		format = t.Formats()[0]
	}
	if !slices.Contains(t.Formats(), format) {
		return "", fmt.Errorf("template %s has the formats %s, not %q", t.Name, strings.Join(t.Formats(), ", "), format)
	}
	values, err := t.values(settings)
	if err != nil {
		return "", err
	}
	filled := t.fill(values)
	if format == "yaml" {
		data, err := yaml.Marshal(filled)
		return string(data), err
	}
	body := filled.Shell
	if format == "python" {
		body = filled.Python
	}
	var out strings.Builder
	for _, paragraph := range []string{filled.Title + ".", filled.Why, "Cost: " + filled.Overhead, "Then: " + filled.Load} {
		for _, line := range wrap(paragraph, 98) {
			out.WriteString("# " + line + "\n")
		}
	}
	for _, setting := range filled.Settings {
		fmt.Fprintf(&out, "# --set %s=%s  %s\n", setting.Name, shellWord(setting.Default), setting.Meaning)
	}
	out.WriteString("\n" + strings.TrimSpace(body) + "\n")
	return out.String(), nil
}

// values are the settings' defaults, with the user's in their place. A setting the template does not have is an error that lists
// those it has.
func (t *Template) values(settings map[string]string) (map[string]string, error) {
	values := map[string]string{}
	var names []string
	for _, setting := range t.Settings {
		names = append(names, setting.Name)
		values[setting.Name] = setting.Default
		if value, set := settings[setting.Name]; set {
			if strings.ContainsAny(value, "\n\r\x00\"'`$\\") {
				return nil, fmt.Errorf("--set %s: quotes, backslashes, $ and line breaks are not taken", setting.Name)
			}
			values[setting.Name] = value
		}
	}
	for name := range settings {
		if _, known := values[name]; !known {
			return nil, fmt.Errorf("template %s has no setting %q; it has %s", t.Name, name, strings.Join(names, ", "))
		}
	}
	return values, nil
}

// fill is a copy of the template with values in it, quoted where they stand in a command line.
func (t *Template) fill(values map[string]string) *Template {
	words := map[string]string{}
	for name, value := range values {
		words[name] = shellWord(value)
	}
	filled := *t
	filled.Settings = slices.Clone(t.Settings)
	for i := range filled.Settings {
		filled.Settings[i].Default = values[filled.Settings[i].Name]
	}
	filled.Why, filled.Overhead, filled.Python = replaced(t.Why, values), replaced(t.Overhead, values), replaced(t.Python, values)
	filled.Load, filled.Shell = replaced(t.Load, words), replaced(t.Shell, words)
	r := &filled.Record
	r.Steps, r.Warmup, r.Output = replaced(r.Steps, values), replaced(r.Warmup, values), replaced(r.Output, values)
	r.Command, r.Tool, r.After = replaced(r.Command, words), replaced(r.Tool, words), replaced(r.After, words)
	r.Environment = slices.Clone(r.Environment)
	for i, entry := range r.Environment {
		r.Environment[i] = replaced(entry, values)
	}
	return &filled
}

// replaced is a text with values in the place of their marks.
func replaced(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(mark string) string { return values[mark[2:len(mark)-2]] })
}

// wrap breaks a paragraph at blanks.
func wrap(paragraph string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(paragraph) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
