package recorder

import (
	"fmt"
	"strings"
)

// apiParts are what watch() needs, in the order in which they import one another.
var apiParts = []string{"stepline_torch", "stepline_writer", "stepline_timing", "stepline_ring", "stepline_recorder", "stepline_textfile", "stepline_watch"}

// PythonAPI is the recorder as one Python module for scripts with a loop of their own: `import stepline_recorder as stepline`,
// then `with stepline.watch(…) as w`. The parts run under a name that no workspace file can have in a trace.
func PythonAPI(version string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, `"""Records steps of a training loop of your own when something is wrong. From stepline %s.

    import stepline_recorder as stepline

    with stepline.watch("captures") as w:
        for batch in loader:
            loss = train_step(batch)
            w.step(loss=loss)

A step slower than 1.2 times the 95th percentile of the last 200, a loss that is NaN or infinite, the signal
SIGUSR2, or the file captures/capture-now being written has the next three steps recorded into a folder of
captures/, to be read with stepline lines. Written by stepline record --python-api; not to be edited.
"""
import sys
import types

_PARTS = {
`, version)
	for _, part := range apiParts {
		text, err := python.ReadFile("python/" + part + ".py")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "    %q: r'''\n%s''',\n", part, text)
	}
	out.WriteString(`}

for _name, _source in _PARTS.items():
    if sys.modules.get(_name) in (None, sys.modules[__name__]):  # stepline record has some of them loaded
        _module = sys.modules[_name] = types.ModuleType(_name)
        exec(compile(_source, "<stepline recorder>", "exec"), _module.__dict__)

watch = sys.modules["stepline_watch"].watch
`)
	return out.String(), nil
}
