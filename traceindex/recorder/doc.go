// Package recorder runs an unmodified training script with torch.profiler attached and writes a trace with its call lines and
// the sources that ran. It holds a Python part, embedded in the binary, and [Run], which `stepline record` calls. It knows no
// trace reader and no Python source; cmd may import it, and whoever wants to read [Sources].
//
// # How the script is run
//
// The command is started as it was given, with two additions to its environment: PYTHONPATH gets a folder with a sitecustomize
// in front, STEPLINE_RECORD the settings. So argv, __main__, the working folder, `python -m`, torchrun, exit codes and signals
// are the script's own, and every Python process below it is reached. In each, sitecustomize takes its folder off sys.path,
// runs the site's own sitecustomize and waits for `import torch`; a process that never imports torch pays a file read. `python
// -I`, `-E` and `-S` shut sitecustomize out: Run then says so.
//
// # The window
//
// A step ends where an optimizer's step() returns, or where GradScaler.step() returns without having called it. With several
// optimizers the one that steps last in the script's round marks the steps: the first one seen until a round is complete.
// After Warmup steps (the last of them with the profiler warming up) Steps steps are recorded as ProfilerStep#N, N counting
// the script's steps from 0. Then the files are written, the hooks are taken out, and CUPTI is detached. A script that ends
// earlier gets what was recorded until then: the piece after the last whole step is no ProfilerStep.
//
// One process records per script name and rank; the first that trains. Worker processes that step no optimizer record
// nothing. A profiler of the script's own goes first: ours waits, or ends its window, and says so.
//
// # On anomaly
//
// With Options.Watch the window opens when there is a reason (stepline_watch.py): a step slower than a share of the last ones, a
// loss that is no number, the signal, or the file capture-now in the output folder, each time that it is written. Each capture is
// a folder of its own, step-N-REASON, readable as a run, with a file train.capture.json that says why it was made
// (docs/schema/capture.schema.json). The last Keep captures are kept, within MaxBytes. After three failed captures in a row
// watching ends; nothing that fails there reaches the training.
//
// A step's time is taken between two CUDA events where the GPU is in use, so that a host which runs ahead is no error, and is
// read when the second one has passed, some steps later; elsewhere by the host's clock. Losses are what the script calls
// backward() on. One on the GPU is copied to pinned memory behind the work that makes it and read when its step's event has
// passed: there is no synchronisation, and a bad loss is known some steps late as well. In a distributed run the rank that sees
// a reason asks the others, through a file in the output folder, to record the same steps; that needs a folder they share.
// Steps inside a CUDA graph's capture are not timed, and a loss given to torch.autograd.grad() is not seen.
//
// With Watch.Textfile step times, losses and captures are kept in a file in Prometheus' text format (stepline_textfile.py),
// replaced whole at the end of a step, every five seconds.
//
// [PythonAPI] is the same for scripts with a loop of their own: `with stepline.watch("captures") as w`, `w.step(loss=loss)`. A
// wheel ships the files stepline_*.py as they are (without sitecustomize.py, which is for processes below `stepline record`).
//
// [Timer] attaches the clock and the losses alone, for `stepline verify`: there times are read at the script's end.
//
// # Cost
//
// A Python process that does not import torch starts 4 ms later (of 22 ms). Before the window an optimizer step costs 5 µs
// more (a step that does nothing, 16 µs without), after it nothing: the methods are torch's own again. On an H200 with torch
// 2.11, a loop of 350 launches a step took 4.02 ms a step without the recorder and 4.25 ms after a recorder's window (means of
// three medians of 1,350 steps; three runs of one kind lie up to 0.8 ms apart), but 5.26 ms where CUPTI stayed attached, as it
// does after torch.profiler: hence the detaching (testdata/lab/overhead.sh). In the warm-up step the sources are read. Before
// the recording starts the GPU is waited for once, so that nothing launched earlier runs in the window; after it the script
// waits for the files to be written: 0.4 to 0.7 s for the lab's traces of 20,000 to 40,000 events.
//
// Watching costs a step 28 µs of host time on the same machine, the loss's copy included: 1.000 ± 0.004 times the step of a
// GPU-bound loop of 25.8 ms, 1.029 ± 0.012 times that of a launch-bound one of 3.6 ms (24 pairs of blocks, mean and standard
// error). After each of four captures the launch-bound loop ran as before them, within its scatter.
//
// # Files
//
// Into the folder Options.OutDir, for a script train.py, in a distributed run with `.rankN` after the stem:
//
//	train.trace.json.gz           the trace, as Kineto writes it
//	train.trace.callers.json.gz   its call lines
//	train.trace.sources.json.gz   the sources that ran, rank and versions
//
// Call lines are a JSON list with a row for each Python or C function called in the window:
//
//	[event name, start in ns since 1970, caller's file, caller's line, caller's function, callee's first line or null]
//
// taken from torch's own event tree (prof.profiler.kineto_results.experimental_event_tree()). Name and start are those of the
// trace's python_function event: start = baseTimeNanoseconds + ts·1000. The line is the one that was running in the caller when
// it made the call; in a statement of several lines it can be any of them. Before torch 2.4 a trace's ts is cut to whole
// microseconds. The file is named as in the trace: cut at sys.path entries.
//
// Sources are one JSON object, [Sources] in Go. Of each Python file in the workspace (Options.Root, and the main script's
// folder) that the process had imported or that has a frame in the trace, site-packages and virtual environments apart:
// its path relative to the root (absolute outside it), the names under which the trace speaks of it, size, SHA-256, for each
// line the first 12 hex digits of the SHA-256 of its bytes without the line ending (\n, \r\n or \r; so line endings may change
// without changing a hash), and the text itself unless Options.OmitText. They are read in the window's warm-up step, after the
// imports: modified_after_start tells that a file was written after the process had started, so that what ran may be older.
//
// # Versions
//
// Python 3.8 and newer, torch 1.13 to 2.11 (run: 1.13 on 3.11, 2.1 on 3.9, 2.7.1 on 3.13, 2.11 on 3.11 and 3.12). Before torch 2.7.1,
// recording Python frames on 3.13 crashes the process; there the trace is recorded without frames, and the message says so. A
// torch built without Kineto (Debian's) exports no Python frames: there the trace is written from the event tree.
//
// # Tests
//
// The tests drive a real Python with torch: the one named by STEPLINE_TEST_PYTHON, else the first of /usr/bin/python3 and
// python3 that can import it. CI installs Debian's python3-torch (`apt-get install -y python3-torch`); with CI=true a missing
// torch fails the tests, elsewhere they are skipped.
package recorder
