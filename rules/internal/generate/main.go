// Command generate writes rules/catalog/catalog.go from the rule folders. `go generate ./rules/catalog` runs it, and then
// the table's command, which needs the catalog compiled.
package main

import (
	"fmt"
	"os"

	"stepline/rules/internal/registry"
)

func main() {
	root, err := registry.Root()
	if err == nil {
		err = registry.WriteCatalog(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
