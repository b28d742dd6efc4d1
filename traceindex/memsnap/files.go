package memsnap

// PythonFrames lists the distinct Python frames of the snapshot by file: what a workspace is searched with.
func (s *Snapshot) PythonFrames() map[string][]Frame {
	files := map[string][]Frame{}
	seen := map[Frame]bool{}
	for _, frame := range s.frames {
		if isPython(frame) && !seen[frame] {
			seen[frame] = true
			files[frame.File] = append(files[frame.File], frame)
		}
	}
	return files
}

// Span is the time of the first and last recorded event, in unix microseconds; 0 and 0 if the version does not record times.
func (s *Snapshot) Span() (firstUs, lastUs int64) {
	for _, events := range s.Traces {
		for i := range events {
			at := events[i].TimeUs
			if at == 0 {
				continue
			}
			if firstUs == 0 || at < firstUs {
				firstUs = at
			}
			lastUs = max(lastUs, at)
		}
	}
	return firstUs, lastUs
}
