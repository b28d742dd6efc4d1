package analysis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"stepline/pyscan"
	"stepline/rules"
	"stepline/rules/catalog"
)

// Workspace is a folder of Python files under one set of settings. It may be used by several goroutines.
type Workspace struct {
	root     string
	settings Settings
	list     []*rules.Rule
	config   rules.Config
	files    projectFiles
	ignores  ignoreFiles
}

// Open makes a workspace of a folder. An empty root is a workspace of loose files. Settings that name no rule or are
// otherwise unusable come back as a joined error beside a usable workspace.
func Open(ctx context.Context, root string, settings Settings) (*Workspace, error) {
	if root != "" {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("workspace %s: %w", root, err)
		}
		if info, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("workspace %s: not a folder", root)
		}
		root = abs
	}
	w := &Workspace{root: root, settings: settings, list: catalog.All()}
	var errs []error
	w.config, errs = ruleConfig(settings, root)
	for _, e := range w.config.Check(w.list) {
		errs = append(errs, e)
	}
	return w, errors.Join(errs...)
}

// CheckRules names the places of a file's settings that name no rule, or whose globs are none; s are the settings it gave.
func (l Layer) CheckRules(s Settings) error {
	config, _ := ruleConfig(s, "") // the other errors are those of the layer's values, which Merge names
	var errs []error
	for _, e := range config.Check(catalog.All()) {
		errs = append(errs, &SettingError{Source: l.Source, Key: e.Key, Line: l.lineOf(e.Key), Message: e.Message})
	}
	return errors.Join(errs...)
}

// lineOf is the line of a setting however its name is written, 0 where it stands in no file.
func (l Layer) lineOf(key string) int {
	for written, line := range l.line {
		if normal := normalKey(written); normal == normalKey(key) || "rules."+normal == normalKey(key) {
			return line
		}
	}
	return 0
}

// Root is the folder's absolute path, "" for loose files.
func (w *Workspace) Root() string { return w.root }

// Settings are the settings the workspace was opened with.
func (w *Workspace) Settings() Settings { return w.settings }

// Rules are the rules that are checked, by family and number.
func (w *Workspace) Rules() []*rules.Rule { return w.list }

// CheckFile lints one file of the workspace among the files indexed so far; costs is the loaded trace or nil.
func (w *Workspace) CheckFile(file *pyscan.File, costs rules.Costs) []rules.Finding {
	return w.checkIn(w.Project(), file, costs)
}

// CheckLive is CheckFile of a file that is being typed into: further edits can be linted by what it found, while project is the
// workspace's.
func (w *Workspace) CheckLive(file *pyscan.File, costs rules.Costs) (findings []rules.Finding, live *rules.Live, project *rules.Project) {
	project = w.Project()
	result, live := rules.RunLive(w.list, rules.Target{File: file, Project: project, Costs: costs}, w.config)
	return result.Findings, live, project
}

func (w *Workspace) checkIn(project *rules.Project, file *pyscan.File, costs rules.Costs) []rules.Finding {
	return rules.Run(w.list, rules.Target{File: file, Project: project, Costs: costs}, w.config).Findings
}

// ruleConfig turns settings into what rules take. Without a set target-torch it is read from the folder's requirement files.
func ruleConfig(s Settings, root string) (rules.Config, []error) {
	c := rules.Config{Select: s.Rules.Select, Ignore: s.Rules.Ignore, PerFileIgnores: s.Rules.PerFileIgnores}
	var errs []error
	for rule, word := range s.Rules.Severity {
		if word == "off" {
			c.Ignore = append(append([]string{}, c.Ignore...), rule)
			continue
		}
		severity, err := rules.ParseSeverity(word)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules.severity.%s: %w", rule, err))
			continue
		}
		if c.Severity == nil {
			c.Severity = map[string]rules.Severity{}
		}
		c.Severity[rule] = severity
	}
	switch {
	case s.TargetTorch != "":
		torch, err := rules.ParseTorchVersion(s.TargetTorch)
		if err != nil {
			errs = append(errs, fmt.Errorf("target-torch: %w", err))
		}
		c.TargetTorch = torch
	case root != "":
		if files, err := openOwnFiles(root); err == nil { // one that cannot be opened names no version
			c.TargetTorch = rules.TorchFromFiles(files, ".")
			files.close()
		}
	}
	return c, errs
}
