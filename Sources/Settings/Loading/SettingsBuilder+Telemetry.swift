import Vocabulary

extension SettingsBuilder {
    /// Sets the values of `telemetry` that the table of keys cannot set, and checks them.
    mutating func setTelemetry(_ telemetry: inout TelemetrySettings) {
        guard let tree = self.tree.tree("telemetry") else { return }
        telemetry.fields = self.collectorFields(tree)
        telemetry.caFile = self.readablePath("ca_file", of: tree)
        telemetry.clientCertificateFile = self.readablePath("client_certificate_file", of: tree)
        telemetry.clientKeyFile = self.readablePath("client_key_file", of: tree, isSecret: true)
        if (tree["client_certificate_file"] == nil) != (tree["client_key_file"] == nil) {
            let missing = tree["client_key_file"] == nil ? "client_key_file" : "client_certificate_file"
            self.report(
                tree.place(of: missing),
                found: "nothing",
                allowed: "a certificate and its key",
                fix: "add \(missing), or remove the other one"
            )
        }
        telemetry.attributes =
            tree.tree("attributes")?.entries.compactMap { name, setting in
                String.read(setting.value).map { TelemetrySettings.Attribute(name: name, value: $0) }
            } ?? []
        if let service = telemetry.attributes.first(where: { $0.name == "service.name" }) {
            if tree["service_name"] == nil { telemetry.serviceName = service.value }
            telemetry.attributes.removeAll { $0.name == "service.name" }
        }
        if tree["ratio"] != nil, !telemetry.sampler.takesRatio {
            self.warnings.append(
                "\(tree.key(of: "ratio")) has no effect with the sampler \(telemetry.sampler.rawValue)"
            )
        }
        self.fitBatch(&telemetry, tree)
        telemetry.url =
            tree.text("traces_endpoint")
            ?? tree.text("endpoint").map { $0.hasSuffix("/") ? "\($0)v1/traces" : "\($0)/v1/traces" }
        if let url = telemetry.url { self.warnOfPlace(url, tree) }
        if telemetry.url?.hasPrefix("http://") == true, !telemetry.fields.isEmpty {
            self.warnings.append(
                "\(tree.key) has headers and a collector without TLS: anyone who can read the traffic to the collector sees the headers"
            )
        }
    }

    /// Warns of a URL for gRPC, and of `endpoint` and `traces_endpoint` if they were probably confused.
    private mutating func warnOfPlace(_ url: String, _ tree: SettingsTree) {
        let place = url.prefix { $0 != "?" }.drop { $0 != "/" }.dropFirst(2)
        let authority = place.prefix { $0 != "/" }
        if tree["traces_endpoint"] != nil, place.dropFirst(authority.count).allSatisfy({ $0 == "/" }) {
            self.warnings.append(
                "\(tree.key(of: "traces_endpoint")) has no path and is used as written; collectors accept traces at /v1/traces: "
                    + "write the complete URL, or endpoint"
            )
        }
        if authority.hasSuffix(":4317") {
            self.warnings.append("\(tree.key) has port 4317, where collectors accept gRPC; OTLP over HTTP is at 4318")
        }
        if url.contains("/v1/traces/v1/traces") {
            self.warnings.append(
                "\(tree.key(of: "endpoint")) already ends with /v1/traces, which the gateway adds: remove it, or write traces_endpoint"
            )
        }
    }

    /// Limits the batch size to the queue size, as OpenTelemetry's SDKs do. Warns if a larger batch size was set.
    private mutating func fitBatch(_ telemetry: inout TelemetrySettings, _ tree: SettingsTree) {
        guard telemetry.batchSize > telemetry.queueSize else { return }
        if let batch = tree["batch_size"] {
            self.warnings.append(
                "\(batch.origin): a batch has at most \(telemetry.queueSize) spans, the size of the queue"
            )
        }
        telemetry.batchSize = telemetry.queueSize
    }

    private mutating func collectorFields(_ tree: SettingsTree) -> [TelemetrySettings.Field] {
        if tree["headers"] != nil, tree["headers_file"] != nil {
            self.report(
                tree.place(of: "headers_file"),
                found: "both headers and headers_file",
                allowed: "one of them",
                fix: "remove one"
            )
            return []
        }
        let text = tree["headers"] != nil ? tree.secret("headers") : self.secret("headers_file", of: tree)
        guard let text else { return [] }
        do throws(SyntaxFault) {
            return try TelemetrySettings.Field.all(in: String(decoding: text.bytes, as: UTF8.self))
        } catch {
            self.report(
                tree.place(of: "headers_file"),
                found: "a text that cannot be used (not shown)",
                allowed: TextRule.collectorFields.allowed,
                fix: error.fix
            )
            return []
        }
    }
}
