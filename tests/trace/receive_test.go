// The spans of a running attnd, read by the parser of OpenTelemetry's collector (its pdata, which its
// receiver for OTLP/HTTP uses): ids, parents, times, attributes, and that all of it is sent whatever
// the collector does meanwhile. make test-trace runs it; BUILD names the folder of the programs.
package trace

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "b7ad6b7169203331"
	state   = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
)

// A collector that refuses the first batches with the given statuses.
type collector struct {
	*httptest.Server
	lock     sync.Mutex
	refusals []int
	batches  int
	spans    []ptrace.Span
	resource pcommon.Resource
	faults   []string
}

func (c *collector) fault(format string, arguments ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, arguments...))
}

func (c *collector) keep(request ptraceotlp.ExportRequest) {
	all := request.Traces().ResourceSpans()
	for i := 0; i < all.Len(); i++ {
		c.resource = all.At(i).Resource()
		scopes := all.At(i).ScopeSpans()
		for k := 0; k < scopes.Len(); k++ {
			if name := scopes.At(k).Scope().Name(); name != "attnd" {
				c.fault("the scope is %q", name)
			}
			for s := 0; s < scopes.At(k).Spans().Len(); s++ {
				c.spans = append(c.spans, scopes.At(k).Spans().At(s))
			}
		}
	}
}

func (c *collector) ServeHTTP(reply http.ResponseWriter, r *http.Request) {
	c.lock.Lock()
	defer c.lock.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != "POST" || r.URL.Path != "/v1/traces" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.fault("%s %s as %q: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
	}
	c.batches++
	if len(c.refusals) > 0 {
		reply.Header().Set("Retry-After", "1")
		reply.WriteHeader(c.refusals[0])
		c.refusals = c.refusals[1:]
		return
	}
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		c.fault("the collector's parser: %v", err)
	}
	c.keep(request)
	whole, _ := ptraceotlp.NewExportResponse().MarshalProto()
	reply.Header().Set("Content-Type", "application/x-protobuf")
	reply.Write(whole)
}

func startCollector(t *testing.T, refusals ...int) *collector {
	c := &collector{refusals: refusals}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// attnd with a small model, sending to the collector.
type server struct {
	*exec.Cmd
	url string
}

func startServer(t *testing.T, c *collector) *server {
	build := os.Getenv("BUILD")
	if build == "" {
		build = "build"
	}
	if !filepath.IsAbs(build) {
		build = filepath.Join("..", "..", build)
	}
	command := exec.Command(filepath.Join(build, "attnd"), "--listen", "127.0.0.1:0",
		"--model", "text=../data/golden/bert-3", "--log-level", "error",
		"--otlp-endpoint", c.URL+"/v1/traces")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if url == "" {
		t.Fatalf("attnd said %q", line)
	}
	return &server{command, url}
}

func (s *server) stop(t *testing.T) {
	s.Process.Signal(syscall.SIGTERM)
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (s *server) ask(t *testing.T, method, path, body, flags string) *http.Response {
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if flags != "" {
		request.Header.Set("Traceparent", "00-"+traceID+"-"+parent+"-"+flags)
		request.Header.Set("Tracestate", state)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, reply.Body)
	reply.Body.Close()
	return reply
}

// The spans that came, by name, once attnd has ended.
func (c *collector) byName(t *testing.T, count int) map[string]ptrace.Span {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, fault := range c.faults {
		t.Error(fault)
	}
	if len(c.spans) != count {
		t.Fatalf("%d spans came, not %d", len(c.spans), count)
	}
	spans := map[string]ptrace.Span{}
	for _, span := range c.spans {
		spans[span.Name()] = span
	}
	return spans
}

func expect(t *testing.T, what string, found, wanted any) {
	t.Helper()
	if found != wanted {
		t.Errorf("%s is %v, not %v", what, found, wanted)
	}
}

func expectAttributes(t *testing.T, what string, found pcommon.Map, wanted map[string]any) {
	t.Helper()
	raw := found.AsRaw()
	for key, value := range wanted {
		expect(t, what+" "+key, raw[key], value)
	}
	expect(t, what+": number of attributes", len(raw), len(wanted))
}

const explained = `{"inputs": [{"text": "vdd 3.97 V"}, {"text": "b"}], "explain": true}`

func TestAPredictionIsASpanBelowItsCallerWithASpanForEachStage(t *testing.T) {
	c := startCollector(t)
	s := startServer(t, c)
	before := time.Now()
	reply := s.ask(t, "POST", "/predict", explained, "01")
	after := time.Now()
	s.stop(t)
	expect(t, "status", reply.StatusCode, 200)
	spans := c.byName(t, 7)
	request := spans["POST /predict"]
	expect(t, "trace", request.TraceID().String(), traceID)
	expect(t, "parent", request.ParentSpanID().String(), parent)
	expect(t, "state", request.TraceState().AsRaw(), state)
	expect(t, "kind", request.Kind(), ptrace.SpanKindServer)
	expect(t, "status", request.Status().Code(), ptrace.StatusCodeUnset)
	expect(t, "the reply's traceparent", reply.Header.Get("Traceparent"),
		"00-"+traceID+"-"+request.SpanID().String()+"-01")
	expectAttributes(t, "request", request.Attributes(), map[string]any{
		"http.request.method": "POST", "http.route": "/predict", "url.path": "/predict",
		"url.scheme": "http", "http.response.status_code": int64(200), "attnd.inputs": int64(2)})
	start, end := request.StartTimestamp().AsTime(), request.EndTimestamp().AsTime()
	if start.Before(before.Add(-time.Millisecond)) || end.Before(start) ||
		end.After(after.Add(time.Second)) {
		t.Errorf("from %v to %v, asked from %v to %v", start, end, before, after)
	}
	last := request.StartTimestamp()
	ids := map[string]bool{request.SpanID().String(): true}
	for _, name := range []string{"parse", "prepare", "queue", "inference", "explain", "encode"} {
		stage, found := spans[name]
		if !found {
			t.Fatalf("no span %s", name)
		}
		expect(t, name+"'s trace", stage.TraceID(), request.TraceID())
		expect(t, name+"'s parent", stage.ParentSpanID(), request.SpanID())
		expect(t, name+"'s kind", stage.Kind(), ptrace.SpanKindInternal)
		expectAttributes(t, name, stage.Attributes(), map[string]any{})
		if stage.StartTimestamp() < last || stage.EndTimestamp() < stage.StartTimestamp() ||
			stage.EndTimestamp() > request.EndTimestamp() {
			t.Errorf("%s is from %d to %d", name, stage.StartTimestamp(), stage.EndTimestamp())
		}
		last = stage.StartTimestamp()
		ids[stage.SpanID().String()] = true
	}
	expect(t, "number of span ids", len(ids), 7)
}

func TestTheResourceIsTheService(t *testing.T) {
	c := startCollector(t)
	s := startServer(t, c)
	s.ask(t, "POST", "/predict", `{"text": "a"}`, "")
	s.stop(t)
	c.byName(t, 6)
	version, err := os.ReadFile("../../.version")
	if err != nil {
		t.Fatal(err)
	}
	raw := c.resource.Attributes().AsRaw()
	expect(t, "service.name", raw["service.name"], "attnd")
	expect(t, "service.version", raw["service.version"], strings.TrimSpace(string(version)))
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if id := fmt.Sprint(raw["service.instance.id"]); !uuid.MatchString(id) {
		t.Errorf("service.instance.id is %s", id)
	}
}

func TestARefusalIsNoErrorAndHasTheSpansItReached(t *testing.T) {
	c := startCollector(t)
	s := startServer(t, c)
	s.ask(t, "POST", "/predict", `{"text": "a", "deadline_ms": 0}`, "01") // 422
	s.ask(t, "GET", "/models/none", "", "01")
	s.ask(t, "GET", "/nowhere", "", "01")
	s.ask(t, "GET", "/healthz", "", "")
	s.ask(t, "POST", "/predict", `{"text": "a"}`, "00")
	s.stop(t)
	c.lock.Lock()
	count := len(c.spans)
	c.lock.Unlock()
	spans := c.byName(t, count)
	for name, status := range map[string]int64{
		"POST /predict": 422, "GET /models/{name}": 404, "GET": 404} {
		span, found := spans[name]
		if !found {
			t.Fatalf("no span %s among %d", name, count)
		}
		expect(t, name, span.Attributes().AsRaw()["http.response.status_code"], status)
		expect(t, name, span.Status().Code(), ptrace.StatusCodeUnset)
	}
	expect(t, "path of a name that the client chose",
		spans["GET /models/{name}"].Attributes().AsRaw()["url.path"], nil)
	if _, found := spans["GET /healthz"]; found {
		t.Error("a probe began a trace")
	}
}

// More than a batch, and a collector that is overloaded at first.
func TestEverySpanArrivesOnceWhateverTheCollectorSaysFirst(t *testing.T) {
	const requests = 200
	c := startCollector(t, 503, 429)
	s := startServer(t, c)
	for i := 0; i < requests; i++ {
		s.ask(t, "POST", "/predict", `{"text": "a"}`, "")
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c.lock.Lock()
		patient := len(c.refusals) == 0 && len(c.spans) > 0
		c.lock.Unlock()
		if patient || time.Now().After(end) {
			break
		}
	}
	s.stop(t)
	c.byName(t, 6*requests)
	ids, traces := map[string]bool{}, map[string]bool{}
	for _, span := range c.spans {
		ids[span.SpanID().String()] = true
		traces[span.TraceID().String()] = true
	}
	expect(t, "span ids", len(ids), 6*requests)
	expect(t, "traces", len(traces), requests)
}
