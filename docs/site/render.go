package main

import (
	"bytes"
	_ "embed" // the page's frame and style
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

var (
	//go:embed page.html.tmpl
	frameText string
	//go:embed style.css
	styleText []byte

	frame = template.Must(template.New("page").Parse(frameText))
)

// markdown reads what GitHub reads. Raw HTML is our own.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

type (
	frameData struct {
		Title, Style, Home string
		Body               template.HTML
		Sections           []frameSection
	}
	frameSection struct {
		Title  string
		Open   bool
		Closed bool // folded unless the page is in it
		Pages  []frameLink
	}
	frameLink struct {
		Title, Path string
		Here        bool
	}
)

// render makes every page's HTML. Links to nothing are errors of their page.
func (s *site) render() error {
	for i := 0; i < len(s.pages); i++ { // links to folders add pages
		p := s.pages[i]
		document := markdown.Parser().Parse(text.NewReader(p.text))
		if err := s.rewriteLinks(p, document); err != nil {
			return err
		}
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.text, document); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		p.body = body.Bytes()
	}
	for _, p := range s.pages {
		data := frameData{Title: p.title, Style: relative(p.path, "style.css"), Home: relative(p.path, "index.html"), Body: template.HTML(p.body)} // our own Markdown
		for _, each := range s.sections {
			links := frameSection{Title: each.title, Closed: each.title == "Rules"}
			for _, other := range each.pages {
				links.Pages = append(links.Pages, frameLink{other.title, relative(p.path, other.path), other == p})
				links.Open = links.Open || other == p
			}
			data.Sections = append(data.Sections, links)
		}
		var whole bytes.Buffer
		if err := frame.Execute(&whole, data); err != nil {
			return fmt.Errorf("%s: %w", p.source, err)
		}
		p.html = whole.Bytes()
	}
	return nil
}

// rewriteLinks points the links and pictures of a page to where they are in the site.
func (s *site) rewriteLinks(p *page, document ast.Node) error {
	return ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var destination *[]byte
		switch n := node.(type) {
		case *ast.Link:
			destination = &n.Destination
		case *ast.Image:
			destination = &n.Destination
		default:
			return ast.WalkContinue, nil
		}
		to, err := s.resolve(p, string(*destination))
		if err != nil {
			return ast.WalkStop, fmt.Errorf("%s: link to %q: %w", p.source, *destination, err)
		}
		*destination = []byte(to)
		return ast.WalkContinue, nil
	})
}

// write stores the site.
func (s *site) write(output string) error {
	put := func(name string, data []byte) error {
		name = filepath.Join(output, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o644)
	}
	for _, p := range s.pages {
		if err := put(p.path, p.html); err != nil {
			return err
		}
	}
	for target, source := range s.files {
		data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
		if err != nil {
			return err
		}
		if err := put(target, data); err != nil {
			return err
		}
	}
	return put("style.css", styleText)
}

// relative is the way from one file of the site to another.
func relative(from, to string) string {
	way, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		return to // both are paths below the site: it cannot be
	}
	return filepath.ToSlash(way)
}
