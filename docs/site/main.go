package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository")
	output := flag.String("output", "dist/site", "the folder to write; what was in it is replaced")
	external := flag.Bool("external", false, "list the links that leave the site")
	flag.Parse()
	if err := run(*root, *output, *external); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, output string, external bool) error {
	site, err := load(root)
	if err != nil {
		return err
	}
	if err := site.render(); err != nil {
		return err
	}
	if err := site.check(); err != nil {
		return err
	}
	if err := os.RemoveAll(output); err != nil {
		return err
	}
	if err := site.write(output); err != nil {
		return errors.Join(err, os.RemoveAll(output)) // no half site
	}
	fmt.Printf("%s: %d pages, %d other files\n", output, len(site.pages), len(site.files))
	if external {
		for _, link := range site.externalLinks() {
			fmt.Println(link)
		}
	}
	return nil
}
