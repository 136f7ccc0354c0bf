// An API server of Kubernetes with Debian's etcd takes what the chart gives: each document is created in a
// namespace that enforces the standard "restricted", with strict validation of fields, no warning and, for
// the kinds of the Prometheus operator, by the schema of its published CRDs. make test-kube-apiserver runs
// it; HELM and KUBE_APISERVER name the programs. Everything listens on loopback.
package server

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	token     = "of-this-test-alone"
	operator  = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	ready     = 3 * time.Minute
	namespace = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "%s", "labels": {
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}}}`
)

var resources = map[string]string{
	"ConfigMap": "api/v1/namespaces/%s/configmaps", "Service": "api/v1/namespaces/%s/services",
	"Pod": "api/v1/namespaces/%s/pods", "Deployment": "apis/apps/v1/namespaces/%s/deployments",
	"StatefulSet":              "apis/apps/v1/namespaces/%s/statefulsets",
	"PodDisruptionBudget":      "apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"HorizontalPodAutoscaler":  "apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers",
	"NetworkPolicy":            "apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
	"ServiceMonitor":           "apis/monitoring.coreos.com/v1/namespaces/%s/servicemonitors",
	"PrometheusRule":           "apis/monitoring.coreos.com/v1/namespaces/%s/prometheusrules",
	"CustomResourceDefinition": "apis/apiextensions.k8s.io/v1/customresourcedefinitions%s",
	"Namespace":                "api/v1/namespaces%s",
}

func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func start(t *testing.T, folder, program string, arguments ...string) {
	log, err := os.Create(filepath.Join(folder, filepath.Base(program)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		killed := time.AfterFunc(10*time.Second, func() { command.Process.Kill() })
		command.Wait()
		killed.Stop()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%s", program, text[max(0, len(text)-1500):])
		}
	})
}

type api struct {
	url    string
	client *http.Client
}

// Status, body and warnings.
func (a *api) ask(method, path string, body []byte) (int, string, []string, error) {
	request, err := http.NewRequest(method, a.url+"/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/yaml")
	reply, err := a.client.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), reply.Header.Values("Warning"), err
}

func (a *api) create(t *testing.T, where, document, more string) (int, string, []string) {
	t.Helper()
	kind := regexp.MustCompile(`(?m)^kind: (\w+)$|"kind": "(\w+)"`).FindStringSubmatch(document)
	path, found := resources[kind[1]+kind[2]]
	if !found {
		t.Fatalf("nothing is known of %v", kind)
	}
	status, text, warnings, err := a.ask("POST", fmt.Sprintf(path, where)+"?fieldValidation=Strict"+more, []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return status, text, warnings
}

func (a *api) must(t *testing.T, where, document string) {
	t.Helper()
	if status, text, warnings := a.create(t, where, document, ""); status != 201 || len(warnings) > 0 {
		t.Errorf("%d %v: %s\n%s", status, warnings, text, document[:min(len(document), 300)])
	}
}

func startServer(t *testing.T) *api {
	folder := t.TempDir()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, bytes := range map[string][]byte{"accounts.key": secret,
		"tokens.csv": []byte(token + ",tester,1,system:masters\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	etcd, peer, port := freePort(t), freePort(t), freePort(t)
	address := fmt.Sprintf("http://127.0.0.1:%d", etcd)
	start(t, folder, "etcd", "--data-dir", folder+"/etcd", "--listen-client-urls", address, "--advertise-client-urls",
		address, "--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", peer), "--unsafe-no-fsync")
	start(t, folder, os.Getenv("KUBE_APISERVER"), "--etcd-servers", address, "--cert-dir", folder, "--bind-address",
		"127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--token-auth-file",
		folder+"/tokens.csv", "--authorization-mode", "RBAC", "--service-account-issuer", "https://attnd.test",
		"--service-account-key-file", folder+"/accounts.key", "--service-account-signing-key-file",
		folder+"/accounts.key", "--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins",
		"ServiceAccount", "--feature-gates", "ImageVolume=true", "--allow-privileged=false")
	a := &api{fmt.Sprintf("https://127.0.0.1:%d", port), &http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	for end := time.Now().Add(ready); ; time.Sleep(500 * time.Millisecond) {
		status, text, _, err := a.ask("GET", "readyz", nil)
		if err == nil && status == 200 {
			return a
		}
		if time.Now().After(end) {
			t.Fatalf("the API server is not ready: %d %s %v", status, text, err)
		}
	}
}

// The CRDs as the operator publishes them.
func (a *api) addOperator(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", operator).Output()
	if err != nil {
		t.Fatal(err)
	}
	var told struct{ Dir string }
	if err := json.Unmarshal(out, &told); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"servicemonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(told.Dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		a.must(t, "", string(text))
		for end := time.Now().Add(ready); ; time.Sleep(200 * time.Millisecond) {
			status, _, _, err := a.ask("GET", "apis/monitoring.coreos.com/v1/"+name, nil)
			if err == nil && status == 200 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s are not served: %d %v", name, status, err)
			}
		}
	}
}

func render(t *testing.T, name, file string) string {
	command := exec.Command(os.Getenv("HELM"), "template", "attnd", "../../../deploy/helm/attnd", "--namespace", name,
		"--kube-version", "1.34.0", "-f", file)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The pod that a Deployment or StatefulSet would make, as a document.
func podOf(t *testing.T, body string) string {
	var workload struct {
		Spec struct{ Template map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &workload); err != nil {
		t.Fatal(err)
	}
	pod := workload.Spec.Template
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	pod["metadata"].(map[string]any)["name"] = "attnd-0"
	spec := pod["spec"].(map[string]any)
	volumes := spec["volumes"].([]any)
	if strings.Contains(body, `"volumeClaimTemplates"`) {
		volumes = append(volumes, map[string]any{"name": "state", "persistentVolumeClaim": map[string]any{"claimName": "state-attnd-0"}})
	}
	spec["volumes"] = volumes
	text, err := json.MarshalIndent(pod, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnAPIServerTakesWhatTheChartGives(t *testing.T) {
	a := startServer(t)
	a.addOperator(t)
	if status, text, _, err := a.ask("POST", "apis/scheduling.k8s.io/v1/priorityclasses", []byte(
		`{"metadata": {"name": "line"}, "value": 1000}`)); err != nil || status != 201 {
		t.Fatalf("%d %s %v", status, text, err)
	}
	files, err := filepath.Glob("../values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no values")
	}
	for _, file := range files {
		name := "with-" + strings.TrimSuffix(filepath.Base(file), ".yaml")
		a.must(t, "", fmt.Sprintf(namespace, name))
		count := 0
		for _, document := range strings.Split(render(t, name, file), "\n---\n") {
			a.must(t, name, document)
			count++
			if strings.Contains(document, "\nkind: Deployment\n") || strings.Contains(document, "\nkind: StatefulSet\n") {
				a.must(t, name, podOf(t, a.created(t, name, document)))
			}
		}
		t.Logf("%s: %d documents and a pod", name, count)
	}
	a.refusals(t)
}

// The object that the server has made of a document, in JSON.
func (a *api) created(t *testing.T, name, document string) string {
	path := resources[regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(document)[1]]
	status, text, _, err := a.ask("GET", fmt.Sprintf(path, name)+"/attnd", nil)
	if err != nil || status != 200 {
		t.Fatalf("%d %s %v", status, text, err)
	}
	return text
}

// Without these the server would take anything.
func (a *api) refusals(t *testing.T) {
	text := render(t, "with-default", "../values/default.yaml")
	for from, to := range map[string]string{
		"failureThreshold: 3":          "failureTreshold: 3",
		"maxUnavailable: 1\n":          "maxUnavailable: some\n",
		"protocol: TCP":                "protocol: HTTP",
		"targetPort: http,":            "targetPort: no_such_port_name_at_all,",
		"mountPath: /etc/attnd/config": "mountPath: \"\"",
	} {
		if !strings.Contains(text, from) {
			t.Fatalf("there is no %s", from)
		}
		refused := 0
		for _, document := range strings.Split(strings.Replace(text, from, to, 1), "\n---\n") {
			if status, _, _ := a.create(t, "with-default", document, "&dryRun=All"); status == 400 || status == 422 {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d documents are refused", to, refused)
		}
	}
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}`
	if status, _, _ := a.create(t, "with-default", pod, ""); status != 403 {
		t.Errorf("a pod that is not restricted: %d", status)
	}
}
