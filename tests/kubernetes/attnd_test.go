package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

func configuration(t *testing.T, r *release) map[string]any {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(r.config.Data["attnd.json"]), &config); err != nil {
		t.Fatal(err)
	}
	return config
}

func write(t *testing.T, path string, bytes []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The files of the Secrets, below root.
func writeSecrets(t *testing.T, root string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	told := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"attnd"}}
	certificate, err := x509.CreateCertificate(rand.Reader, &told, &told, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	write(t, root+"/etc/attnd/tls/tls.crt", public)
	write(t, root+"/etc/attnd/client-ca/ca.crt", public)
	write(t, root+"/etc/attnd/tls/tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	write(t, root+"/etc/attnd/keys/keys.txt", []byte(fmt.Sprintf("sha256:%x line1 predict\n", sha256.Sum256(public))))
	write(t, root+"/etc/attnd/audit/audit.key", []byte(strings.Repeat("k", 32)))
}

func attnd(t *testing.T, arguments ...string) (string, error) {
	out, err := exec.Command(filepath.Join(os.Getenv("BUILD"), "attnd"), arguments...).CombinedOutput()
	return string(out), err
}

// attnd itself takes the configuration, with the pod's paths moved below a folder.
func TestAttndTakesItsConfiguration(t *testing.T) {
	models, err := filepath.Abs("../../models")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, _ string, r *release) {
		root := t.TempDir()
		writeSecrets(t, root)
		for _, path := range []string{"/srv", "/var/lib/attnd"} {
			if err := os.MkdirAll(root+path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, link := range []string{"/models", "/srv/models"} {
			if err := os.Symlink(models, root+link); err != nil {
				t.Fatal(err)
			}
		}
		moved := regexp.MustCompile(`"(/(models|srv|etc|var)[/"])`).ReplaceAllString(r.config.Data["attnd.json"],
			`"`+root+`$1`)
		write(t, root+"/attnd.json", []byte(moved))
		if told, err := attnd(t, "--check-config", "--config", root+"/attnd.json"); err != nil {
			t.Errorf("%v: %s\n%s", err, told, moved)
		}
	})
}

// An option is the chart's own to set, or one of values.config; none is missing and none is made up.
func TestTheSchemaKnowsEachOption(t *testing.T) {
	var schema struct {
		Properties struct {
			Config struct {
				PropertyNames struct{ Enum []string }
			}
		}
	}
	text, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	printed, err := attnd(t, "--print-config")
	if err != nil {
		t.Fatal(printed)
	}
	var options map[string]any
	if err := json.Unmarshal([]byte(printed), &options); err != nil {
		t.Fatal(err)
	}
	for _, name := range schema.Properties.Config.PropertyNames.Enum {
		if _, found := options[name]; !found {
			t.Errorf("attnd has no option %s", name)
		}
		delete(options, name)
	}
	for option := range configuration(t, decode(t, render(t, "-f", "values/everything.yaml"))) {
		delete(options, option)
	}
	for option := range options {
		t.Errorf("neither the chart nor its schema has the option %s", option)
	}
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for setting, word := range map[string]string{
		"replica=3":                                  "replica",
		"image.name=attnd":                           "name",
		"image.digest=sha256:12":                     "digest",
		"resources.cpu=1500m":                        "cpu",
		"resources.cpu=1.5":                          "cpu",
		"resources.memory=lots":                      "memory",
		"config.queue_limits=4":                      "queue_limits",
		"config.listen=0.0.0.0:80":                   "listen",
		"models=null":                                "models",
		"keys.name=attnd-keys":                       "name",
		"networkPolicy.from=":                        "from",
		"otlp.endpoint=http://collector:4318/":       "endpoint",
		"autoscaling.cpu=80":                         "cpu",
		"service.type=Ingress":                       "type",
		"modelVolume.image=a:1,modelVolume.claim=b":  "image or claim",
		"tls.clientCa=ca":                            "tls.secret",
		"admin.listen=0.0.0.0:8081":                  "keys.secret",
		"keys.secret=k,serviceMonitor.enabled=true":  "serviceMonitor.key",
		"autoscaling.enabled=true,autoscaling.max=1": "above max",
		"state.auditKey.secret=k":                    "state.enabled",
	} {
		if text, err := helm(t, "template", "attnd", chart, "--kube-version", version, "--set", setting); err == nil {
			t.Errorf("%s is taken", setting)
		} else if !strings.Contains(text, word) {
			t.Errorf("%s: %s", setting, text)
		}
	}
	if text, err := helm(t, "template", "attnd", chart, "--kube-version", version, "--set-json", "networkPolicy.from=[]"); err == nil {
		t.Errorf("a policy that lets all in is taken: %s", text)
	}
}

func TestTheDocumentsValuesAreTaken(t *testing.T) {
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	file := filepath.Join(t.TempDir(), "line1.yaml")
	write(t, file, []byte(block))
	r := decode(t, render(t, "-f", file))
	expect(t, "the image", r.template.Spec.Containers[0].Image, "registry.fab/attnd:0.1.0")
	expect(t, "the models", r.template.Spec.Volumes[1].Image.Reference, "registry.fab/attnd-models:7")
}

func TestTheRulesAreThoseOfDeployPrometheus(t *testing.T) {
	r := decode(t, render(t, "-f", "values/everything.yaml"))
	type file struct {
		Groups []map[string]any
	}
	var wanted []map[string]any
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		text, err := os.ReadFile("../../deploy/prometheus/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var read file
		if err := yaml.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, read.Groups...)
	}
	text, err := json.Marshal(r.rule.Spec.Groups)
	if err != nil {
		t.Fatal(err)
	}
	expected, _ := json.Marshal(wanted)
	var found, all any
	if json.Unmarshal(text, &found) != nil || json.Unmarshal(expected, &all) != nil {
		t.Fatal("no JSON")
	}
	expect(t, "the rules", found, all)
}

// The metric that is scaled by is the one of the adapter's rule, and the rule's series are attnd's.
func TestTheAdapterGivesWhatIsScaledBy(t *testing.T) {
	r := decode(t, render(t, "-f", "values/everything.yaml"))
	text, err := os.ReadFile("../../deploy/helm/prometheus-adapter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var adapter struct {
		Rules struct {
			Custom []struct {
				SeriesQuery, MetricsQuery string
				Name                      struct{ As string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &adapter); err != nil {
		t.Fatal(err)
	}
	rule := adapter.Rules.Custom[0]
	expect(t, "the metric", r.autoscaler.Spec.Metrics[0].Pods.Metric.Name, rule.Name.As)
	page, err := os.ReadFile("../data/metrics/page.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range regexp.MustCompile(`attnd_\w+\{stage="queue"`).FindAllString(rule.SeriesQuery+rule.MetricsQuery, -1) {
		name, _, _ := strings.Cut(series, "{")
		if !regexp.MustCompile(`(?m)^` + name + `\{.*stage="queue"`).Match(page) {
			t.Errorf("attnd has no series %s", series)
		}
	}
	expect(t, "the processor beside it", r.autoscaler.Spec.Metrics[1].Resource.Name, "cpu")
}
