{{- define "tamis.name" -}}
{{- if contains "tamis" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-tamis" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "tamis.selector" -}}
app.kubernetes.io/name: tamis
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tamis.labels" -}}
{{ include "tamis.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tamis.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{- define "tamis.files" -}}
{{- $own := dict "version" 1 "listen" "0.0.0.0:4445" "metrics" "0.0.0.0:9464" "drain_seconds" (int .Values.drainSeconds) -}}
gateway.yaml: |
{{ merge $own .Values.gateway | toYaml | indent 2 }}
{{- range $name, $text := .Values.files }}
{{ $name }}: |
{{ $text | indent 2 }}
{{- end }}
{{- end }}
