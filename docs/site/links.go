package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// resolve turns a link of a Markdown file into one of the site. Files of the repository that are no pages are copied into the
// site under files/, so that the site stands by itself.
func (s *site) resolve(p *page, destination string) (string, error) {
	u, err := url.Parse(destination)
	if err != nil {
		return "", err
	}
	if u.Scheme != "" || u.Host != "" || u.Path == "" {
		return destination, nil
	}
	source := path.Join(path.Dir(p.source), u.Path)
	if strings.HasPrefix(source, "../") || path.IsAbs(u.Path) {
		return "", errors.New("it leaves the repository")
	}
	target := ""
	switch to := s.bySource[source]; {
	case to != nil:
		target = to.path
	case s.bySource[path.Join(source, "README.md")] != nil: // a folder
		target = s.bySource[path.Join(source, "README.md")].path
	default:
		info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(source)))
		if err != nil {
			return "", errors.New("no such file")
		}
		if info.IsDir() {
			return s.resolveFolder(p, source)
		}
		target = "files/" + strings.TrimPrefix(source, ".") // no hidden file names in the site
		s.files[target] = source
	}
	u.Path = relative(p.path, target)
	return u.String(), nil
}

// mostListed is how many files a folder may have to be listed.
const mostListed = 100

// resolveFolder makes a page that lists a folder's files, for a folder without a README.md of its own.
func (s *site) resolveFolder(p *page, source string) (string, error) {
	listing := &page{source: path.Join(source, "README.md"), path: "files/" + source + "/index.html", title: source}
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n", source)
	files := 0
	folder := filepath.Join(s.root, filepath.FromSlash(source))
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != folder && (passedOver(e) || strings.HasPrefix(e.Name(), ".")):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case e.Type().IsRegular():
			inside, err := filepath.Rel(folder, name)
			if err != nil {
				return err
			}
			files++
			fmt.Fprintf(&text, "- [%s](<%s>)\n", filepath.ToSlash(inside), filepath.ToSlash(inside))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if files == 0 || files > mostListed {
		return "", fmt.Errorf("a folder of %d files and no README.md", files)
	}
	listing.text = []byte(text.String())
	s.pages = append(s.pages, listing)
	s.bySource[listing.source] = listing
	return relative(p.path, listing.path), nil
}

// check reads every page as a browser would: each link and picture must lead to a file of the site, each fragment to an anchor.
func (s *site) check() error {
	byPath := map[string]*page{}
	for _, p := range s.pages {
		if other := byPath[p.path]; other != nil {
			return fmt.Errorf("%s and %s are both %s", other.source, p.source, p.path)
		}
		byPath[p.path] = p
		if err := p.scan(); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
	}
	var errs []error
	for _, p := range s.pages {
		for _, link := range p.links {
			if err := s.leads(byPath, p, link); err != nil {
				errs = append(errs, fmt.Errorf("%s: link to %q: %w", p.source, link, err))
			}
		}
	}
	return errors.Join(errs...)
}

// leads reports whether a link of a page arrives. Links that leave the site are judged by their form alone.
func (s *site) leads(byPath map[string]*page, p *page, link string) error {
	u, err := url.Parse(link)
	if err != nil {
		return err
	}
	if external(u) {
		if u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" || u.Scheme != "mailto" && u.Host == "" {
			return errors.New("not an address")
		}
		return nil
	}
	target := p.path
	if u.Path != "" {
		target = path.Join(path.Dir(p.path), u.Path)
	}
	to := byPath[target]
	if to == nil {
		if _, ok := s.files[target]; ok && u.Fragment == "" || target == "style.css" {
			return nil
		}
		return errors.New("no such page")
	}
	if u.Fragment != "" && !to.ids[u.Fragment] {
		return fmt.Errorf("%s has no anchor #%s", to.source, u.Fragment)
	}
	return nil
}

func external(u *url.URL) bool { return u.Scheme != "" || u.Host != "" }

// scan collects a page's anchors and links from its HTML.
func (p *page) scan() error {
	p.ids, p.links = map[string]bool{}, nil
	z := html.NewTokenizer(bytes.NewReader(p.html))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(p.ids) == 0 {
				return errors.New("no anchor at all")
			}
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range z.Token().Attr {
				switch a.Key {
				case "id":
					if p.ids[a.Val] {
						return fmt.Errorf("anchor #%s twice", a.Val)
					}
					p.ids[a.Val] = true
				case "href", "src":
					p.links = append(p.links, a.Val)
				}
			}
		}
	}
}

// externalLinks are the links that leave the site, sorted, each once.
func (s *site) externalLinks() []string {
	var out []string
	for _, p := range s.pages {
		for _, link := range p.links {
			if u, err := url.Parse(link); err == nil && external(u) {
				out = append(out, link)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
