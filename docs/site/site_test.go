package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryLinkArrives builds the site of this repository: every link and picture leads to a file of the site, every fragment to
// an anchor. Links that leave it are listed, and judged by their form.
func TestEveryLinkArrives(t *testing.T) {
	s, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.render(); err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	if len(s.pages) < 80 { // README, docs, 74 rules
		t.Errorf("only %d pages", len(s.pages))
	}
	for _, source := range []string{"README.md", "docs/rules.md", "docs/attribution.md", "docs/cli.md", "docs/guides/first-trace.md", "docs/guides/distributed.md", "docs/guides/reading-a-gap.md", "docs/guides/many-ranks.md", "rules/syn001/doc.md"} {
		if s.bySource[source] == nil {
			t.Errorf("%s is no page", source)
		}
	}
	for _, link := range s.externalLinks() {
		t.Log(link)
	}
	output := t.TempDir()
	if err := s.write(output); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pages {
		text, err := os.ReadFile(filepath.Join(output, filepath.FromSlash(p.path)))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, foreign := range []string{"<script", "src=\"http", "@import", "url("} {
			if strings.Contains(string(text), foreign) {
				t.Errorf("%s has %s", p.path, foreign)
			}
		}
	}
}

// TestBrokenLinksAreErrors: each kind of link to nothing is told with its page.
func TestBrokenLinksAreErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, says string }{
		"no file":        {"# A\n[x](nowhere.md)", "no such file"},
		"no anchor":      {"# A\n[x](#nothing)", "no anchor #nothing"},
		"other's anchor": {"# A\n[x](other.md#nothing)", "no anchor #nothing"},
		"picture":        {"# A\n![x](missing.png)", "no such file"},
		"outside":        {"# A\n[x](../../../etc/passwd)", "leaves the repository"},
		"folder":         {"# A\n[x](../empty)", "0 files"},
		"scheme":         {"# A\n[x](htp://example.org)", "not an address"},
		"no title":       {"text", "no heading"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"README.md": "# stepline", "docs/a.md": test.text, "docs/other.md": "# Other\n## Part", "docs/guides/g.md": "# G", "editors/README.md": "# E", "rules/syn001/doc.md": "# SYN001"} {
				path := filepath.Join(root, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := run(root, filepath.Join(t.TempDir(), "site"), false)
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "docs/a.md") {
				t.Errorf("error %v, want one on docs/a.md that says %q", err, test.says)
			}
		})
	}
}

// TestLinksBetweenPages: Markdown links become links between pages, other files are copied into the site.
func TestLinksBetweenPages(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"README.md": "# stepline\n[guide](docs/guides/g.md#part-one) [editors](editors) [action](action.yml) [folder](monitoring)", "docs/guides/g.md": "# G\n## Part one\n[home](../../README.md) [rule](../../rules/syn001/doc.md)",
		"editors/README.md": "# E", "rules/syn001/doc.md": "# SYN001", "action.yml": "name: x", "monitoring/alerts.yml": "groups: []",
	} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(t.TempDir(), "site")
	if err := run(root, output, false); err != nil {
		t.Fatal(err)
	}
	home, _ := os.ReadFile(filepath.Join(output, "index.html"))
	guide, _ := os.ReadFile(filepath.Join(output, "guides", "g.html"))
	for _, want := range []string{`href="guides/g.html#part-one"`, `href="editors/index.html"`, `href="files/action.yml"`, `href="files/monitoring/index.html"`} {
		if !strings.Contains(string(home), want) {
			t.Errorf("the first page lacks %s", want)
		}
	}
	for _, want := range []string{`href="../index.html"`, `href="../rules/syn001.html"`} {
		if !strings.Contains(string(guide), want) {
			t.Errorf("the guide lacks %s", want)
		}
	}
	if _, err := os.Stat(filepath.Join(output, "files", "monitoring", "alerts.yml")); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(output, "files", "action.yml")); err != nil || string(data) != "name: x" {
		t.Errorf("action.yml: %q, %v", data, err)
	}
}
