{{- define "attnd.name" -}}
{{- if contains "attnd" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-attnd" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "attnd.selector" -}}
app.kubernetes.io/name: attnd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "attnd.labels" -}}
{{ include "attnd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "attnd.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "attnd.scheme" -}}
{{ ternary "HTTPS" "HTTP" (ne .Values.tls.secret "") }}
{{- end }}

{{/* The port of admin_listen if others than the pod itself may reach it, else nothing. */}}
{{- define "attnd.adminPort" -}}
{{- $listen := .Values.admin.listen -}}
{{- if and $listen (not (hasPrefix "127." $listen)) }}{{ last (splitList ":" $listen) }}{{ end -}}
{{- end }}

{{/* attnd.json: what the chart decides, over what values.config says. */}}
{{- define "attnd.config" -}}
{{- $config := dict "listen" "0.0.0.0:8080" "models" .Values.models "drain_delay_ms" (int .Values.drain.delayMs) "drain_timeout_ms" (int .Values.drain.timeoutMs) -}}
{{- if or .Values.modelVolume.image .Values.modelVolume.claim }}{{ $_ := set $config "models_root" "/srv/models" }}{{ end -}}
{{- if .Values.state.enabled -}}
{{- $_ := set $config "state_dir" "/var/lib/attnd/state" -}}
{{- if .Values.state.audit }}{{ $_ := set $config "audit_dir" "/var/lib/attnd/audit" }}{{ end -}}
{{- with .Values.state.auditKey }}{{ if .secret }}{{ $_ := set $config "audit_key_file" (printf "/etc/attnd/audit/%s" .key) }}{{ end }}{{ end -}}
{{- end -}}
{{- with .Values.keys }}{{ if .secret }}{{ $_ := set $config "keys_file" (printf "/etc/attnd/keys/%s" .key) }}{{ end }}{{ end -}}
{{- if .Values.tls.secret -}}
{{- $_ := set $config "tls_cert_file" "/etc/attnd/tls/tls.crt" -}}
{{- $_ := set $config "tls_key_file" "/etc/attnd/tls/tls.key" -}}
{{- end -}}
{{- if .Values.tls.clientCa }}{{ $_ := set $config "tls_client_ca_file" "/etc/attnd/client-ca/ca.crt" }}{{ end -}}
{{- with .Values.admin.listen }}{{ $_ := set $config "admin_listen" . }}{{ end -}}
{{- with .Values.otlp.endpoint }}{{ $_ := set $config "otlp_endpoint" . }}{{ end -}}
{{- mergeOverwrite (deepCopy .Values.config) $config | toPrettyJson -}}
{{- end }}

{{/* Rules that a schema cannot express. */}}
{{- define "attnd.check" -}}
{{- if and .Values.modelVolume.image .Values.modelVolume.claim }}{{ fail "modelVolume: image or claim, not both" }}{{ end -}}
{{- if and .Values.tls.clientCa (not .Values.tls.secret) }}{{ fail "tls.clientCa needs tls.secret" }}{{ end -}}
{{- if and (include "attnd.adminPort" .) (not .Values.keys.secret) }}{{ fail "admin.listen: without keys.secret admin routes answer only on 127.0.0.1" }}{{ end -}}
{{- if and .Values.state.auditKey.secret (not (and .Values.state.enabled .Values.state.audit)) }}{{ fail "state.auditKey needs state.enabled and state.audit" }}{{ end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.min) (int .Values.autoscaling.max)) }}{{ fail "autoscaling.min is above max" }}{{ end -}}
{{- if and .Values.serviceMonitor.enabled .Values.keys.secret (not .Values.serviceMonitor.key.secret) }}{{ fail "serviceMonitor.key.secret: with keys.secret /metrics asks for a key" }}{{ end -}}
{{- end }}

{{- define "attnd.mounts" -}}
- {name: config, mountPath: /etc/attnd/config, readOnly: true}
{{- if or .Values.modelVolume.image .Values.modelVolume.claim }}
- {name: models, mountPath: /srv/models, readOnly: true}
{{- end }}
{{- if .Values.keys.secret }}
- {name: keys, mountPath: /etc/attnd/keys, readOnly: true}
{{- end }}
{{- if .Values.tls.secret }}
- {name: tls, mountPath: /etc/attnd/tls, readOnly: true}
{{- end }}
{{- if .Values.tls.clientCa }}
- {name: client-ca, mountPath: /etc/attnd/client-ca, readOnly: true}
{{- end }}
{{- if .Values.state.auditKey.secret }}
- {name: audit-key, mountPath: /etc/attnd/audit, readOnly: true}
{{- end }}
{{- if .Values.state.enabled }}
- {name: state, mountPath: /var/lib/attnd}
{{- end }}
{{- end }}

{{/* Secrets are for the pod's group (fsGroup), and for nobody else. */}}
{{- define "attnd.secretVolume" -}}
- name: {{ .name }}
  secret: {secretName: {{ .secret | quote }}, defaultMode: 0440}
{{- end }}

{{- define "attnd.volumes" -}}
- name: config
  configMap: {name: {{ include "attnd.name" . }}}
{{- if .Values.modelVolume.image }}
- name: models
  image: {reference: {{ .Values.modelVolume.image | quote }}, pullPolicy: {{ .Values.image.pullPolicy }}}
{{- else if .Values.modelVolume.claim }}
- name: models
  persistentVolumeClaim: {claimName: {{ .Values.modelVolume.claim | quote }}, readOnly: true}
{{- end }}
{{- with .Values.keys.secret }}
{{ include "attnd.secretVolume" (dict "name" "keys" "secret" .) }}
{{- end }}
{{- with .Values.tls.secret }}
{{ include "attnd.secretVolume" (dict "name" "tls" "secret" .) }}
{{- end }}
{{- with .Values.tls.clientCa }}
{{ include "attnd.secretVolume" (dict "name" "client-ca" "secret" .) }}
{{- end }}
{{- with .Values.state.auditKey.secret }}
{{ include "attnd.secretVolume" (dict "name" "audit-key" "secret" .) }}
{{- end }}
{{- end }}
