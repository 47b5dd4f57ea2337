// SPDX-License-Identifier: GPL-2.0-or-later

// Drives a session with Debian's Go library, and with what its generator makes of the interface: client SOCKET FOLDER
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"client/iotracer"

	"github.com/varlink/go/varlink"
)

func must(what string, err error) {
	if err != nil {
		fmt.Println(what+":", err)
		os.Exit(1)
	}
}

func connect(address string) *varlink.Connection {
	connection, err := varlink.NewConnection(context.Background(), "unix:"+address)
	must("connect", err)
	return connection
}

// Has folders made until told to stop, so that there are rows: what a client itself does while it is connected is in none.
func work(folder string, stop chan bool) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
			must("mkdir", exec.Command("mkdir", filepath.Join(folder, fmt.Sprint(i))).Run())
		}
	}
}

func main() {
	ctx, folder, name := context.Background(), os.Args[2], "from-go"
	connection := connect(os.Args[1])
	stop := make(chan bool)

	var started struct {
		Session struct {
			State string `json:"state"`
		} `json:"session"`
	}
	parameters := map[string]any{"name": name, "streams": []string{"vfs"}, "paths": []string{folder}, "snapshots": false}
	must("Start", connection.Call(ctx, "io.iotracer.Start", parameters, &started))
	if started.Session.State != "running" {
		must("Start", errors.New("the session is "+started.Session.State))
	}
	var exists *iotracer.SessionExists
	err := iotracer.Dispatch_Error(connection.Call(ctx, "io.iotracer.Start", parameters, &started))
	if !errors.As(err, &exists) {
		must("a second Start", fmt.Errorf("the error is %v", err))
	}

	go work(folder, stop)
	tail := connect(os.Args[1])
	receive, err := iotracer.Tail().Send(ctx, tail, varlink.More, &name, nil)
	must("Tail", err)
	for rows := 0; rows < 20; rows++ {
		var row struct {
			Columns map[string]string `json:"columns"`
		}
		raw, _, flags, err := receive(ctx)
		must("a row", err)
		must("a row", json.Unmarshal(*raw, &row))
		if row.Columns["operation"] != "MKDIR" || flags&varlink.Continues == 0 {
			must("a row", fmt.Errorf("%v with flags %d", row.Columns, flags))
		}
	}
	must("close", tail.Close())
	stop <- true

	sessions, _, err := iotracer.Stop().Call(ctx, connection, &name, nil)
	must("Stop", err)
	var stopped struct {
		Reason  string                    `json:"reason"`
		Streams map[string]map[string]any `json:"streams"`
	}
	must("Stop", json.Unmarshal(sessions[0], &stopped))
	if stopped.Reason != "stopped" || stopped.Streams["vfs"]["written"].(float64) < 20 {
		must("Stop", fmt.Errorf("%v", stopped))
	}
	var unknown *iotracer.NoSuchSession
	_, _, err = iotracer.Rotate().Call(ctx, connection, &name)
	if !errors.As(err, &unknown) || unknown.Name != name {
		must("Rotate of a session that has ended", fmt.Errorf("the error is %v", err))
	}
}
