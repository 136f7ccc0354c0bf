// The chart deploy/helm/attnd, rendered by helm itself for each file of values/ and read by Kubernetes' own
// types: nothing in it is unknown to them, its parts fit each other, its pods are what the standard
// "restricted" asks for, and its attnd.json is one that attnd takes. make test-kubernetes runs it; BUILD
// names the folder of the programs, HELM the program helm.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	chart   = "../../deploy/helm/attnd"
	version = "1.34.0" // of the Kubernetes that helm is to suppose
)

func helm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command(os.Getenv("HELM"), arguments...)
	home := t.TempDir() // nothing of who runs it
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	if err != nil {
		return out.String() + said.String(), err
	}
	return out.String(), nil
}

func render(t *testing.T, arguments ...string) string {
	t.Helper()
	text, err := helm(t, append([]string{"template", "attnd", chart, "--namespace", "line1", "--kube-version", version},
		arguments...)...)
	if err != nil {
		t.Fatal(text)
	}
	return text
}

// The objects that a set of values renders to; missing parts are nil.
type release struct {
	kinds      []string
	template   *core.PodTemplateSpec
	deployment *apps.Deployment
	stateful   *apps.StatefulSet
	services   []*core.Service
	config     *core.ConfigMap
	budget     *policy.PodDisruptionBudget
	autoscaler *autoscaling.HorizontalPodAutoscaler
	network    *networking.NetworkPolicy
	monitor    *monitoring.ServiceMonitor
	rule       *monitoring.PrometheusRule
}

func (r *release) add(t *testing.T, object runtime.Object) {
	switch part := object.(type) {
	case *apps.Deployment:
		r.deployment, r.template = part, &part.Spec.Template
	case *apps.StatefulSet:
		r.stateful, r.template = part, &part.Spec.Template
	case *core.Service:
		r.services = append(r.services, part)
	case *core.ConfigMap:
		r.config = part
	case *policy.PodDisruptionBudget:
		r.budget = part
	case *autoscaling.HorizontalPodAutoscaler:
		r.autoscaler = part
	case *networking.NetworkPolicy:
		r.network = part
	case *monitoring.ServiceMonitor:
		r.monitor = part
	case *monitoring.PrometheusRule:
		r.rule = part
	default:
		t.Errorf("a %T is expected nowhere", object)
	}
}

// Every document, by the types of client-go and of the Prometheus operator: unknown and repeated fields
// are errors.
func decode(t *testing.T, text string) *release {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoring.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	r := &release{}
	for _, document := range strings.Split(text, "\n---\n") {
		document = strings.TrimPrefix(document, "---\n")
		object, kind, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, document)
			continue
		}
		r.kinds = append(r.kinds, kind.Kind)
		r.add(t, object)
	}
	sort.Strings(r.kinds)
	return r
}

// Runs the test for each file of values/.
func each(t *testing.T, test func(t *testing.T, name string, r *release)) {
	files, err := filepath.Glob("values/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files of values: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			r := decode(t, render(t, "-f", file))
			if !t.Failed() {
				test(t, name, r)
			}
		})
	}
}

func TestHelmFindsNoFault(t *testing.T) {
	files, _ := filepath.Glob("values/*.yaml")
	for _, file := range files {
		if text, err := helm(t, "lint", "--strict", "--kube-version", version, "-f", file, chart); err != nil {
			t.Errorf("%s: %s", file, text)
		}
	}
}

func TestEachSetOfValuesGivesItsParts(t *testing.T) {
	always := []string{"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"}
	wanted := map[string][]string{
		"default": always, "admin": always, "models-from-an-image": always, "models-from-a-claim": always,
		"tls-and-keys": append([]string{"ServiceMonitor"}, always...),
		"autoscaled-by-the-processor": {"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "PrometheusRule",
			"Service"},
		"everything": {"ConfigMap", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget",
			"PrometheusRule", "Service", "Service", "ServiceMonitor", "StatefulSet"},
	}
	each(t, func(t *testing.T, name string, r *release) {
		expected := append([]string{}, wanted[name]...)
		sort.Strings(expected)
		if !reflect.DeepEqual(r.kinds, expected) {
			t.Errorf("%v, not %v", r.kinds, expected)
		}
	})
}

func TestAPackagedChartIsTheSame(t *testing.T) {
	folder := t.TempDir()
	if text, err := helm(t, "package", chart, "--destination", folder); err != nil {
		t.Fatal(text)
	}
	found, _ := filepath.Glob(folder + "/*.tgz")
	if len(found) != 1 {
		t.Fatalf("%d packages", len(found))
	}
	text, err := helm(t, "template", "attnd", found[0], "--namespace", "line1", "--kube-version", version, "-f",
		"values/everything.yaml")
	if err != nil || text != render(t, "-f", "values/everything.yaml") {
		t.Errorf("the package renders to something else: %v", err)
	}
}

func TestThePlainManifestsAreTheChartsDefault(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := helm(t, "template", "attnd", chart, "--kube-version", version)
	if err != nil {
		t.Fatal(rendered)
	}
	_, plain, found := strings.Cut(string(text), "---\n")
	if !found || "---\n"+plain != rendered {
		t.Error("deploy/kubernetes.yaml is not what deploy/helm/attnd gives: make kubernetes")
	}
	decode(t, "---\n"+plain)
}
