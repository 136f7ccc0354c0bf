package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func expect(t *testing.T, what string, found, wanted any) {
	t.Helper()
	if fmt.Sprint(found) != fmt.Sprint(wanted) {
		t.Errorf("%s is %v, not %v", what, found, wanted)
	}
}

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	each(t, func(t *testing.T, _ string, r *release) {
		judge := func() policy.AggregateCheckResult {
			return policy.AggregateCheckResults(evaluator.EvaluatePod(level, &r.template.ObjectMeta, &r.template.Spec))
		}
		if result := judge(); !result.Allowed {
			t.Error(result.ForbiddenDetail())
		}
		r.template.Spec.SecurityContext.RunAsNonRoot = nil
		if judge().Allowed {
			t.Error("the evaluator takes anything")
		}
		container := r.template.Spec.Containers[0]
		expect(t, "readOnlyRootFilesystem", *container.SecurityContext.ReadOnlyRootFilesystem, true)
		expect(t, "automountServiceAccountToken", *r.template.Spec.AutomountServiceAccountToken, false)
	})
}

func selects(t *testing.T, what string, selector *meta.LabelSelector, pod *core.PodTemplateSpec) {
	t.Helper()
	read, err := meta.LabelSelectorAsSelector(selector)
	if err != nil || read.Empty() || !read.Matches(labels.Set(pod.Labels)) {
		t.Errorf("%s does not select the pods: %v", what, err)
	}
}

func ports(pod *core.PodTemplateSpec) map[string]int32 {
	found := map[string]int32{}
	for _, port := range pod.Spec.Containers[0].Ports {
		found[port.Name] = port.ContainerPort
	}
	return found
}

func TestWhatPointsAtPodsFindsThem(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		has := ports(r.template)
		if r.stateful != nil {
			selects(t, "the StatefulSet", r.stateful.Spec.Selector, r.template)
			expect(t, "serviceName", r.stateful.Spec.ServiceName, r.services[1].Name)
		} else {
			selects(t, "the Deployment", r.deployment.Spec.Selector, r.template)
		}
		for _, service := range r.services {
			selects(t, service.Name, &meta.LabelSelector{MatchLabels: service.Spec.Selector}, r.template)
			if _, found := has[service.Spec.Ports[0].TargetPort.StrVal]; !found {
				t.Errorf("%s: no port %s", service.Name, service.Spec.Ports[0].TargetPort.StrVal)
			}
		}
		if r.budget != nil {
			selects(t, "the disruption budget", r.budget.Spec.Selector, r.template)
		}
		for _, spread := range r.template.Spec.TopologySpreadConstraints {
			selects(t, spread.TopologyKey, spread.LabelSelector, r.template)
		}
		if r.autoscaler != nil {
			target := r.autoscaler.Spec.ScaleTargetRef
			expect(t, "what is scaled", target.Kind, map[bool]string{true: "StatefulSet", false: "Deployment"}[r.stateful != nil])
		}
		if r.monitor != nil {
			read, _ := meta.LabelSelectorAsSelector(&r.monitor.Spec.Selector)
			count := 0
			for _, service := range r.services {
				if read.Matches(labels.Set(service.Labels)) {
					count++
					expect(t, "the job", service.Labels[r.monitor.Spec.JobLabel], "attnd")
					expect(t, "the scraped port", service.Spec.Ports[0].Name, r.monitor.Spec.Endpoints[0].Port)
				}
			}
			expect(t, "number of services that are scraped", count, 1)
		}
	})
}

func TestVolumesAreThereForEachMount(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		volumes := map[string]bool{}
		for _, volume := range r.template.Spec.Volumes {
			volumes[volume.Name] = true
			if volume.Secret != nil {
				expect(t, "mode of "+volume.Name, *volume.Secret.DefaultMode, 0440)
			}
			if volume.ConfigMap != nil {
				expect(t, "configuration", volume.ConfigMap.Name, r.config.Name)
			}
		}
		if r.stateful != nil {
			volumes[r.stateful.Spec.VolumeClaimTemplates[0].Name] = true
		}
		for _, mount := range r.template.Spec.Containers[0].VolumeMounts {
			if !volumes[mount.Name] {
				t.Errorf("no volume %s", mount.Name)
			}
			delete(volumes, mount.Name)
		}
		expect(t, "number of volumes that are mounted nowhere", len(volumes), 0)
	})
}

// Each path of attnd.json is below a mount, but for models of the image itself.
func TestPathsOfTheConfigurationAreMounted(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		config := configuration(t, r)
		paths := []any{}
		for _, option := range []string{"models_root", "state_dir", "audit_dir", "audit_key_file", "keys_file",
			"tls_cert_file", "tls_key_file", "tls_client_ca_file"} {
			if path, found := config[option]; found {
				paths = append(paths, path)
			}
		}
		for _, model := range config["models"].([]any) {
			paths = append(paths, model.(map[string]any)["dir"])
		}
		for _, path := range append(paths, r.template.Spec.Containers[0].Args[1]) {
			is_there := strings.HasPrefix(path.(string), "/models/")
			for _, mount := range r.template.Spec.Containers[0].VolumeMounts {
				is_there = is_there || strings.HasPrefix(path.(string)+"/", mount.MountPath+"/")
			}
			if !is_there {
				t.Errorf("%s is on no volume", path)
			}
		}
	})
}

func TestNothingIsKilledBeforeItHasDrained(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		config := configuration(t, r)
		least := config["drain_delay_ms"].(float64)/1000 + config["drain_timeout_ms"].(float64)/1000
		container := r.template.Spec.Containers[0]
		if container.Lifecycle != nil {
			least += float64(container.Lifecycle.PreStop.Sleep.Seconds)
		}
		if grace := *r.template.Spec.TerminationGracePeriodSeconds; float64(grace) < least+5 {
			t.Errorf("%d s of grace, %v s of drain", grace, least)
		}
	})
}

func TestProbesSpeakAsThePortDoes(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		_, has_tls := configuration(t, r)["tls_cert_file"]
		scheme := map[bool]core.URIScheme{true: core.URISchemeHTTPS, false: core.URISchemeHTTP}[has_tls]
		container := r.template.Spec.Containers[0]
		for path, probes := range map[string][]*core.Probe{
			"/readyz": {container.StartupProbe, container.ReadinessProbe}, "/healthz": {container.LivenessProbe}} {
			for _, probe := range probes {
				expect(t, "path", probe.HTTPGet.Path, path)
				expect(t, path, probe.HTTPGet.Scheme, scheme)
				expect(t, path+"'s port", probe.HTTPGet.Port, intstr.FromString("http"))
			}
		}
		if r.monitor != nil && has_tls {
			expect(t, "the scrape", r.monitor.Spec.Endpoints[0].Scheme, "https")
		}
	})
}

func TestResourcesAreWholeProcessorsAndGuaranteed(t *testing.T) {
	each(t, func(t *testing.T, _ string, r *release) {
		resources := r.template.Spec.Containers[0].Resources
		expect(t, "cpu's remainder", resources.Limits.Cpu().MilliValue()%1000, 0)
		for _, name := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
			limit, request := resources.Limits[name], resources.Requests[name]
			expect(t, string(name), request.String(), limit.String())
		}
	})
}

// The clients of each port, and the addresses that the pods may connect to.
func TestTheNetworkPolicyLetsNobodyElseIn(t *testing.T) {
	each(t, func(t *testing.T, name string, r *release) {
		if r.network == nil {
			return
		}
		selects(t, "the policy", &r.network.Spec.PodSelector, r.template)
		expect(t, "policy types", r.network.Spec.PolicyTypes, []networking.PolicyType{"Ingress", "Egress"})
		for _, rule := range r.network.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Error("a rule lets all in")
			}
			if _, found := ports(r.template)[rule.Ports[0].Port.StrVal]; !found {
				t.Errorf("no port %s", rule.Ports[0].Port.StrVal)
			}
		}
		expect(t, "number of rules", len(r.network.Spec.Ingress), map[bool]int{true: 2, false: 1}[name == "everything"])
		expect(t, "ways out", len(r.network.Spec.Egress), map[bool]int{true: 1, false: 0}[name == "everything"])
		if name == "everything" {
			out := r.network.Spec.Egress[0]
			expect(t, "the collector", out.To[0].IPBlock.CIDR, "10.20.30.40/32")
			expect(t, "its port", out.Ports[0].Port.IntVal, 4318)
		}
	})
}
