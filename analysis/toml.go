package analysis

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads stepline.toml, or the [tool.stepline] table of a pyproject.toml; found tells whether there is one.
func parseTOML(name string, text []byte) (layer Layer, found bool, err error) {
	layer = Layer{Source: name}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, _ := bad.Position()
			return layer, false, &SettingError{Source: name, Key: strings.Join(bad.Key(), "."), Line: row,
				Message: fmt.Sprintf("this is not TOML: %s", strings.TrimPrefix(bad.Error(), "toml: "))}
		}
		return layer, false, fmt.Errorf("%s: %w", name, err)
	}
	prefix := ""
	if name == "pyproject.toml" {
		prefix = "tool.stepline."
		tool, _ := doc["tool"].(map[string]any)
		section, ok := tool["stepline"].(map[string]any)
		if !ok {
			return layer, false, nil
		}
		doc = section
	}
	layer.Values, layer.line = doc, keyLines(text, prefix)
	return layer, true, nil
}

// keyLines maps every dotted key under prefix to its line, from 1.
func keyLines(text []byte, prefix string) map[string]int {
	lines := map[string]int{}
	note := func(key string, line int) {
		if rest, ok := strings.CutPrefix(key+".", prefix); ok && rest != "" {
			key = strings.TrimSuffix(rest, ".")
			if _, dup := lines[key]; !dup {
				lines[key] = line
			}
		}
	}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		key, line := dottedKey(&p, e)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = key
			note(table, line)
		case unstable.KeyValue:
			if table != "" {
				key = table + "." + key
			}
			note(key, line)
			noteInline(&p, key, e.Value(), note)
		}
	}
	return lines
}

func noteInline(p *unstable.Parser, key string, v *unstable.Node, note func(string, int)) {
	if v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		sub, line := dottedKey(p, it.Node())
		note(key+"."+sub, line)
		if it.Node().Kind == unstable.KeyValue {
			noteInline(p, key+"."+sub, it.Node().Value(), note)
		}
	}
}

func dottedKey(p *unstable.Parser, e *unstable.Node) (key string, line int) {
	var parts []string
	for it := e.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), line
}
