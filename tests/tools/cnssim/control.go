package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	vt "github.com/vmware/govmomi/vim25/types"
)

// control disturbs the simulator while it runs, and tells what it has seen. Over plain HTTP:
//
//	GET  /counts           logins, refusedLogins, sessions (alive now), calls by method
//	POST /terminate        ends every session
//	POST /password?to=X    the password from now on
//	POST /status?code=503  answers everything with this status, until code=0
type control struct {
	mu       sync.Mutex
	sm       *simulator.SessionManager
	ctx      *simulator.Context
	password string
	status   int
	logins   int
	refused  int
	calls    map[string]int
	users    map[string]string // by session, also of ended ones
}

func newControl(s *simulator.Service, password string) *control {
	return &control{
		sm:       s.Context.Map.SessionManager(),
		ctx:      s.Context,
		password: password,
		calls:    map[string]int{},
		users:    map[string]string{},
	}
}

func (c *control) valid(user string, req *vt.Login) bool {
	name, _, _ := strings.Cut(req.UserName, "@")
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == user && req.Password == c.password {
		c.logins++
		return true
	}
	c.refused++
	return false
}

var (
	methodIn = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
	userIn   = regexp.MustCompile(`<(?:\w+:)?userName>([^<]*)<`)
)

// wrap counts the calls, notes who has which session, and answers with a status where one is set.
func (c *control) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.mu.Lock()
		if m := methodIn.FindSubmatch(body); m != nil {
			c.calls[string(m[1])]++
		}
		status := c.status
		c.mu.Unlock()
		if status != 0 {
			http.Error(w, "not ready", status)
			return
		}
		next.ServeHTTP(w, r)
		for _, line := range w.Header().Values("Set-Cookie") {
			key, found := strings.CutPrefix(line, soap.SessionCookieName+"=")
			if user := userIn.FindSubmatch(body); found && user != nil {
				key, _, _ = strings.Cut(key, ";")
				c.mu.Lock()
				c.users[key] = string(user[1])
				c.mu.Unlock()
			}
		}
	})
}

func (c *control) alive() int {
	n := 0
	for key, user := range c.users {
		b := c.sm.SessionIsActive(c.ctx, &vt.SessionIsActive{SessionID: key, UserName: user})
		if b.(*methods.SessionIsActiveBody).Res.Returnval {
			n++
		}
	}
	return n
}

func (c *control) terminate() {
	other := &simulator.Context{Session: &simulator.Session{UserSession: vt.UserSession{Key: "control"}}}
	for key := range c.users {
		c.sm.TerminateSession(other, &vt.TerminateSession{SessionId: []string{key}})
		delete(c.users, key)
	}
}

func (c *control) serve() (string, error) {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			_ = json.NewEncoder(w).Encode(do(r))
		})
	}
	handle("GET /counts", func(*http.Request) any {
		return map[string]any{
			"logins": c.logins, "refusedLogins": c.refused, "sessions": c.alive(), "calls": c.calls,
		}
	})
	handle("POST /terminate", func(*http.Request) any {
		c.terminate()
		return true
	})
	handle("POST /password", func(r *http.Request) any {
		c.password = r.URL.Query().Get("to")
		return true
	})
	handle("POST /status", func(r *http.Request) any {
		c.status, _ = strconv.Atoi(r.URL.Query().Get("code"))
		return true
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(l, mux) }()
	return "http://" + l.Addr().String(), nil
}
