package lsp

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheServerEndsWithItsClientsProcess and with no other's; without the option it watches nobody.
func TestTheServerEndsWithItsClientsProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command(self, "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		pid   any
		watch bool
		ends  bool
	}{
		{"gone", gone.Process.Pid, true, true},
		{"gone, not watched", gone.Process.Pid, false, false},
		{"alive", os.Getpid(), true, false},
		{"none", nil, true, false},
		{"nonsense", -1, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startClient(t, Options{NoWatch: true, WatchParent: test.watch})
				c.must("initialize", object{"processId": test.pid, "capabilities": object{}}, nil)
				c.notify("initialized", object{})
				c.open("untitled:a", loads)
				time.Sleep(time.Minute)
				select {
				case err := <-c.served:
					if !test.ends || err != nil {
						t.Errorf("the server ended: %v", err)
					}
					c.inflight.Wait()
					<-c.ended
				default:
					if test.ends {
						t.Error("the server lives on")
					}
					c.quit()
				}
			})
		})
	}
}
