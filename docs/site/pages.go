package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// section is a part of the navigation.
type section struct {
	title string
	pages []*page
}

// page is one Markdown file and what becomes of it.
type page struct {
	source string // in the repository, with /: "docs/guides/ci.md"
	path   string // in the site: "guides/ci.html"
	title  string
	text   []byte
	body   []byte // rendered
	html   []byte // the whole page
	// ids are the anchors of the page, links what it links to.
	ids   map[string]bool
	links []string
}

// site is all pages and the files they show or point to.
type site struct {
	root     string
	pages    []*page
	bySource map[string]*page
	sections []*section
	files    map[string]string // path in the site → path in the repository
}

// guideOrder is the order in which guides are read; others follow by name.
var guideOrder = []string{"first-trace", "reading-a-gap", "distributed", "many-ranks", "capture", "verify", "ci", "monitoring"}

// load finds the pages.
func load(root string) (*site, error) {
	s := &site{root: root, bySource: map[string]*page{}, files: map[string]string{}}
	start, guides, reference := &section{title: "Start"}, &section{title: "Guides"}, &section{title: "Reference"}
	editors, rules := &section{title: "Editors"}, &section{title: "Rules"}
	if err := s.add(start, "README.md", "index.html"); err != nil {
		return nil, err
	}
	err := s.walk("docs", func(source string) error {
		inside := strings.TrimPrefix(source, "docs/")
		target := strings.TrimSuffix(inside, ".md") + ".html"
		switch {
		case source == "docs/rules.md":
			return s.add(rules, source, "rules/index.html")
		case strings.HasPrefix(source, "docs/guides/"):
			return s.add(guides, source, target)
		}
		return s.add(reference, source, target)
	})
	if err != nil {
		return nil, err
	}
	err = s.walk("editors", func(source string) error {
		if path.Base(source) != "README.md" {
			return nil
		}
		name := path.Base(path.Dir(source))
		if source == "editors/README.md" {
			name = "index"
		}
		return s.add(editors, source, "editors/"+name+".html")
	})
	if err != nil {
		return nil, err
	}
	err = s.walk("rules", func(source string) error {
		if path.Base(source) != "doc.md" {
			return nil
		}
		return s.add(rules, source, "rules/"+path.Base(path.Dir(source))+".html")
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(guides.pages, func(x, y *page) int {
		return cmp.Or(cmp.Compare(guidePlace(x), guidePlace(y)), cmp.Compare(x.source, y.source))
	})
	s.sections = []*section{start, guides, reference, editors, rules}
	return s, nil
}

func guidePlace(p *page) int {
	name := strings.TrimSuffix(path.Base(p.source), ".md")
	if i := slices.Index(guideOrder, name); i >= 0 {
		return i
	}
	return len(guideOrder)
}

// walk calls visit for the Markdown files under a folder of the repository, in order; folders of dependencies and hidden ones are
// left out.
func (s *site) walk(folder string, visit func(source string) error) error {
	return filepath.WalkDir(filepath.Join(s.root, folder), func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case passedOver(e):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(e.Name(), ".md"):
			return nil
		}
		inside, err := filepath.Rel(s.root, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(inside))
	})
}

// passedOver reports whether a folder holds dependencies, tests or what is hidden.
func passedOver(e fs.DirEntry) bool {
	return e.IsDir() && (e.Name() == "node_modules" || e.Name() == "testdata" || e.Name() == "test" || strings.HasPrefix(e.Name(), "."))
}

func (s *site) add(to *section, source, target string) error {
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
	if err != nil {
		return err
	}
	p := &page{source: source, path: target, text: text, title: titleOf(text)}
	if p.title == "" {
		return fmt.Errorf("%s: no heading to name the page after", source)
	}
	to.pages = append(to.pages, p)
	s.pages = append(s.pages, p)
	s.bySource[source] = p
	return nil
}

// titleOf is the first heading's text without marks.
func titleOf(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(strings.NewReplacer("`", "", "*", "").Replace(title))
		}
	}
	return ""
}
