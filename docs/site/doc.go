// Command site builds the documentation as static pages: `make site` writes dist/site.
//
// Its pages are the Markdown files of the repository as they lie there: README.md (the first page), everything under docs,
// the rules' pages and the editors' READMEs. A new file under docs is a new page without a change here (pages.go). Links between
// Markdown files become links between pages, links to other files of the repository copies of those files (links.go); a link to
// nothing is an error that names page and link. Pages need no network and no script, and follow the reader's light or dark
// setting.
//
// Nobody imports it; it imports no package of stepline.
package main
