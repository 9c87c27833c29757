import Vocabulary

private let second: Duration = .seconds(1)

extension Section {
    static let telemetry = Section(
        [
            SettingsKey(
                "endpoint",
                .text(.collectorURL),
                "The collector's URL for OTLP over HTTP, without /v1/traces. Without a URL nothing is traced."
            ),
            SettingsKey(
                "traces_endpoint",
                .text(.tracesURL),
                "The complete URL for traces, instead of endpoint."
            ),
            SettingsKey(
                "protocol",
                at: \Settings.telemetry.form,
                "The encoding of spans. JSON can be read by people, but is several times larger."
            ),
            SettingsKey(
                "headers",
                .secret(.collectorFields),
                "Header fields for the collector, as name=value,name=value, percent-encoded. They may contain a token and are never shown."
            ),
            SettingsKey(
                "headers_file",
                .path(isSecret: true),
                "A file that contains the header fields, instead of headers."
            ),
            SettingsKey(
                "ca_file",
                .path(isSecret: false),
                default: "the system's authorities",
                "A PEM file with the authorities of the collector's certificate, which is always verified."
            ),
            SettingsKey(
                "client_certificate_file",
                .path(isSecret: false),
                "A PEM file with the client certificate that the collector requests, followed by its issuers."
            ),
            SettingsKey(
                "client_key_file",
                .path(isSecret: true),
                "A PEM file with the key of client_certificate_file."
            ),
            SettingsKey(
                "service_name",
                at: \Settings.telemetry.serviceName,
                .text(.text),
                "The name of the service in traces (service.name)."
            ),
            SettingsKey(
                "attributes",
                .pairs(name: .attributeName, value: .text(.text)),
                default: "none",
                "Additional attributes of the resource, such as deployment.environment.name."
            ),
            SettingsKey(
                "sampler",
                at: \Settings.telemetry.sampler,
                "Which traces are recorded. With a parentbased sampler, the parent decides if a trusted proxy names one."
            ),
            SettingsKey(
                "ratio",
                at: \Settings.telemetry.ratio,
                .text(.ratio),
                "The recorded share of the traces that begin here, with traceidratio and parentbased_traceidratio."
            ),
            SettingsKey(
                "trust_client_context",
                at: \Settings.telemetry.trustsClients,
                "Whether traces of all clients are continued, and not only those of trusted_proxies. This is for internal networks."
            ),
            SettingsKey(
                "paths",
                at: \Settings.telemetry.namesPaths,
                "Whether spans contain paths, as the access log does. They never contain queries."
            ),
        ],
        isOption: true
    )

    /// The keys for sending spans. They are not keys of the file: only OpenTelemetry's environment variables set them.
    static let exporter = Section([
        SettingsKey(
            "timeout",
            at: \Settings.telemetry.timeout,
            .duration(.milliseconds(100)...(second * 300)),
            "How long the collector may take to answer."
        ),
        SettingsKey(
            "batch_delay",
            at: \Settings.telemetry.batchDelay,
            .duration(.milliseconds(10)...(second * 300)),
            "How long spans wait until they are sent."
        ),
        SettingsKey(
            "batch_size",
            at: \Settings.telemetry.batchSize,
            .integer(1...8192),
            "The maximum number of spans in one request to the collector."
        ),
        SettingsKey(
            "queue_size",
            at: \Settings.telemetry.queueSize,
            .integer(64...1_000_000),
            "The maximum number of spans that wait. Further spans are dropped and counted; requests never wait."
        ),
        SettingsKey(
            "export_timeout",
            at: \Settings.telemetry.exportTimeout,
            .duration(second...(second * 600)),
            "How long a batch is retried while the collector is unreachable. Then it is dropped and counted."
        ),
    ])
}

extension TextRule {
    /// A share of traces, from 0 to 1.
    static let ratio: TextRule = {
        var rule = TextRule(
            "ratio",
            allowed: "a decimal number from 0 to 1, e.g. 0.01",
            pattern: "^(0|1|[01]?\\.[0-9]+|[01]\\.[0-9]+)$",
            fix: "write the share of the traces to record"
        ) { text in TelemetrySettings.Ratio(text) != nil }
        rule.bounds = 0...1
        return rule
    }()

    static let attributeName = Self.word("attribute name", most: 128, signs: "-._/")

    /// Header fields for a collector, in the form of `OTEL_EXPORTER_OTLP_HEADERS`.
    static let collectorFields = TextRule(
        "list of name=value",
        allowed: "name=value,name=value with percent-encoded values, e.g. authorization=Bearer%20abc",
        pattern: "^[!#-~ ]+$"
    ) { text throws(SyntaxFault) in
        _ = try TelemetrySettings.Field.all(in: text)
        return .secret(text)
    }
}

extension TelemetrySettings.Field {
    /// Fields that define how a request is sent and read. The gateway sets them itself.
    private static let own = [
        "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive",
        "expect", "te", "trailer", "upgrade",
    ]

    /// Reads the fields in `name=value,name=value`.
    ///
    /// - Throws: Advice that shows no part of the text, except the name of a field that the gateway sets.
    static func all(in text: String) throws(SyntaxFault) -> [Self] {
        var fields: [Self] = []
        for (name, value) in try nameValuePairs(in: text) {
            guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(\.isTokenByte) else {
                throw SyntaxFault("write field names of letters, digits and -")
            }
            guard !self.own.contains(name.lowercased()) else {
                throw SyntaxFault("remove \(name.lowercased()): the gateway decides it")
            }
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw SyntaxFault("write values without control characters")
            }
            guard String(validating: value, as: UTF8.self) != nil else { throw SyntaxFault("write values in UTF-8") }
            fields.append(Self(name: name, value: Secret(value)))
        }
        return fields
    }
}

/// Reads `name=value,...` and decodes percent-encoded values (W3C Baggage 3.3.1) and names (OpenTelemetry).
///
/// - Throws: Advice that shows no part of the text.
func nameValuePairs(in text: String) throws(SyntaxFault) -> [(name: String, value: [UInt8])] {
    func trimmed(_ text: Substring.UTF8View) -> [UInt8] {
        Array(Array(text.drop { $0 == 0x20 }).reversed().drop { $0 == 0x20 }.reversed())
    }
    var pairs: [(name: String, value: [UInt8])] = []
    for part in text.utf8.split(separator: UInt8(ascii: ",")) {
        let part = Substring(part).utf8
        if trimmed(part).isEmpty { continue }
        guard let mark = part.firstIndex(of: UInt8(ascii: "=")) else {
            throw SyntaxFault("write name=value, with commas between the pairs")
        }
        let value = trimmed(Substring(part[part.index(after: mark)...]).utf8)
        let name = trimmed(Substring(part[..<mark]).utf8)
        guard let decoded = PercentCoding.decoded(value, plusIsSpace: false),
            let name = PercentCoding.decoded(name, plusIsSpace: false)
        else { throw SyntaxFault("write % as %25") }
        pairs.append((String(decoding: name, as: UTF8.self), decoded))
    }
    return pairs
}
