package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// TestNothingIsPushedOfWhatIsClosed: what is closed while its findings are on their way to the editor keeps none of them there. The
// findings are many, so that they are being written when the answer to a hover, which waits for the same check, has come.
func TestNothingIsPushedOfWhatIsClosed(t *testing.T) {
	text := "import torch\n" + strings.Repeat("x = torch.load(p)\n", 900)
	for _, test := range []struct {
		name     string
		notebook bool
		end      func(c *fakeClient, uri string)
	}{
		{"a document is closed", false, func(c *fakeClient, uri string) {
			c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
		}},
		{"a notebook is closed", true, func(c *fakeClient, uri string) {
			c.notify("notebookDocument/didClose", object{"notebookDocument": object{"uri": uri}, "cellTextDocuments": []object{}})
		}},
		{"a cell is deleted", true, func(c *fakeClient, uri string) {
			c.notify("notebookDocument/didChange", object{"notebookDocument": object{"uri": uri, "version": 2},
				"change": object{"cells": object{"structure": object{"array": object{"start": 0, "deleteCount": 1}, "didClose": []object{{"uri": "cell:" + uri}}}}}})
		}},
		{"the client begins to pull", false, func(c *fakeClient, uri string) {
			c.begin("textDocument/diagnostic", object{"textDocument": object{"uri": uri}})
		}},
		{"the client begins to pull a cell", true, func(c *fakeClient, uri string) {
			c.begin("textDocument/diagnostic", object{"textDocument": object{"uri": "cell:" + uri}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			session(t, Options{}, func(t *testing.T, c *fakeClient) {
				c.initialize("", fullCapabilities(), nil)
				for round := range 5 {
					uri := fmt.Sprintf("untitled:%d", round)
					shown := uri
					if test.notebook {
						shown = "cell:" + uri
						c.notify("notebookDocument/didOpen", object{
							"notebookDocument":  object{"uri": uri, "version": 1, "cells": []object{{"kind": 2, "document": shown}}},
							"cellTextDocuments": []object{{"uri": shown, "languageId": "python", "version": 1, "text": text}}})
					} else {
						c.open(uri, text)
					}
					c.must("textDocument/hover", object{"textDocument": object{"uri": shown}, "position": at(0, 0)}, nil)
					test.end(c, uri)
					if _, found := c.published(shown); len(found) != 0 {
						t.Fatalf("round %d: %d findings are left in the editor", round, len(found))
					}
				}
			})
		})
	}
}

// TestWhatIsOpenedAgainIsShownOnce: a client that opens a file again, and writes its URI in another way, has the findings there alone,
// and one that opens a notebook again has none left in the cells that it has no more.
func TestWhatIsOpenedAgainIsShownOnce(t *testing.T) {
	session(t, Options{}, func(t *testing.T, c *fakeClient) {
		c.initialize("", fullCapabilities(), nil)
		text := "import torch\nx = torch.load(p)\n"
		notebook := func(cell string) {
			c.notify("notebookDocument/didOpen", object{
				"notebookDocument":  object{"uri": "file:///w/n.ipynb", "version": 1, "cells": []object{{"kind": 2, "document": cell}}},
				"cellTextDocuments": []object{{"uri": cell, "languageId": "python", "version": 1, "text": text}}})
		}
		for _, test := range []struct {
			first, second string
			open          func(uri string)
		}{
			{"file:///w/a.py", "file:///w/%61.py", func(uri string) { c.open(uri, text) }},
			{"cell:1", "cell:2", notebook},
		} {
			test.open(test.first)
			if _, found := c.published(test.first); len(found) != 1 {
				t.Errorf("%s has %v", test.first, places(found))
			}
			test.open(test.second)
			if _, found := c.published(test.first); len(found) != 0 {
				t.Errorf("%s keeps %v", test.first, places(found))
			}
			if _, found := c.published(test.second); len(found) != 1 {
				t.Errorf("%s has %v", test.second, places(found))
			}
		}
	})
}
