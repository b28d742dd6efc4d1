package diagnose

// Settings are the thresholds of the diagnosis. The zero value of a field means its default.
type Settings struct {
	// DominantShare is the share of the step that the largest cost must have for the step to be called after it (default 0.35).
	DominantShare float64 `toml:"dominant-share" json:"dominantShare"`
	// Lead is by how much of the step it must exceed the second largest (default 0.05).
	Lead float64 `toml:"lead" json:"lead"`
	// MemoryKernelShare is the share of compute time in low-intensity kernels from which compute counts as memory bound (default 0.6).
	MemoryKernelShare float64 `toml:"memory-kernel-share" json:"memoryKernelShare"`
	// NotableShare is the share of the step below which evidence and trace-only findings are left out (default 0.01).
	NotableShare float64 `toml:"notable-share" json:"notableShare"`
}

// withDefaults fills what is not set.
func (s Settings) withDefaults() Settings {
	for _, d := range []struct {
		value  *float64
		preset float64
	}{{&s.DominantShare, 0.35}, {&s.Lead, 0.05}, {&s.MemoryKernelShare, 0.6}, {&s.NotableShare, 0.01}} {
		if *d.value <= 0 {
			*d.value = d.preset
		}
	}
	return s
}
