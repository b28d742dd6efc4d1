// Command rulestable writes docs/rules.md from the compiled catalog. `go generate ./rules/catalog` runs it.
package main

import (
	"fmt"
	"os"

	"stepline/rules/catalog"
	"stepline/rules/internal/registry"
)

func main() {
	root, err := registry.Root()
	if err == nil {
		err = registry.WriteTable(root, catalog.All())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rulestable:", err)
		os.Exit(1)
	}
}
