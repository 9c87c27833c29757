{{- define "sallyport.name" -}}
{{- contains "sallyport" .Release.Name | ternary .Release.Name (printf "%s-sallyport" .Release.Name) -}}
{{- end }}

{{- define "sallyport.selector" -}}
app.kubernetes.io/name: sallyport
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sallyport.labels" -}}
{{ include "sallyport.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "sallyport.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}
