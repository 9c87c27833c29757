import Vocabulary

/// Applies OpenTelemetry's environment variables over the settings file, as OpenTelemetry's specification says. The
/// gateway's own variables (`SALLYPORT_TELEMETRY_*`) take precedence.
///
/// OpenTelemetry's variables are often set for a whole cluster. They are ignored unless an endpoint for traces is set.
/// With an endpoint, unsupported values are reported, and unknown variables are ignored.
struct TelemetryVariables {
    /// The form of a variable's value.
    private enum Form {
        case asKey
        /// A word of the specification, in upper or lower case.
        case word
        case milliseconds
    }

    private struct Variable {
        /// The names of the variable. The first name that is set applies.
        let names: [String]
        let key: String
        var form = Form.asKey
        /// Another key that the variable replaces if the file sets it.
        var instead: String?
    }

    private static let exporter = "OTEL_EXPORTER_OTLP_"
    private static let endpoints = ["endpoint", "traces_endpoint"]

    private static let variables = [
        Variable(names: ["\(exporter)ENDPOINT"], key: "endpoint", instead: "traces_endpoint"),
        Variable(names: ["\(exporter)TRACES_ENDPOINT"], key: "traces_endpoint", instead: "endpoint"),
        Self.traces("PROTOCOL", "protocol", .word),
        Self.traces("TIMEOUT", "timeout", .milliseconds),
        Self.traces("CERTIFICATE", "ca_file"),
        Self.traces("CLIENT_CERTIFICATE", "client_certificate_file"),
        Self.traces("CLIENT_KEY", "client_key_file"),
        Variable(names: ["OTEL_SERVICE_NAME"], key: "service_name"),
        Variable(names: ["OTEL_TRACES_SAMPLER"], key: "sampler", form: .word),
        Variable(names: ["OTEL_TRACES_SAMPLER_ARG"], key: "ratio"),
        Variable(names: ["OTEL_BSP_SCHEDULE_DELAY"], key: "batch_delay", form: .milliseconds),
        Variable(names: ["OTEL_BSP_EXPORT_TIMEOUT"], key: "export_timeout", form: .milliseconds),
        Variable(names: ["OTEL_BSP_MAX_QUEUE_SIZE"], key: "queue_size"),
        Variable(names: ["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], key: "batch_size"),
    ]

    /// Returns a variable with two names. The name for traces takes precedence over the name for all signals.
    private static func traces(_ name: String, _ key: String, _ form: Form = .asKey) -> Variable {
        Variable(names: ["\(self.exporter)TRACES_\(name)", "\(self.exporter)\(name)"], key: key, form: form)
    }

    private let environment: [String: String]
    private(set) var problems: [SettingsProblem] = []
    private(set) var warnings: [String] = []

    init(_ environment: [String: String]) {
        // An empty variable is treated as unset. Files and templates often leave white space at the ends.
        self.environment = environment.filter { $0.key.hasPrefix("OTEL_") }.mapValues(\.withoutOuterSpaces)
            .filter { !$0.value.isEmpty }
    }

    /// Whether a variable switches traces off. It overrides the file and all other variables.
    private var isOff: Bool {
        self.environment["OTEL_SDK_DISABLED"]?.lowercased() == "true"
            || self.environment["OTEL_TRACES_EXPORTER"]?.lowercased() == "none"
    }

    /// Applies the variables to a tree that has the values of the file.
    ///
    /// - Parameter own: All variables of the process.
    mutating func apply(to tree: inout SettingsTree, besides own: [String: String]) {
        guard !self.environment.isEmpty, !self.isOff else { return }
        let names = Self.endpoints.map { "SALLYPORT_TELEMETRY_\($0.uppercased())" }
        let hasEndpoint =
            self.first(["\(Self.exporter)ENDPOINT", "\(Self.exporter)TRACES_ENDPOINT"]) != nil
            || names.contains { own[$0] != nil } || Self.endpoints.contains { tree.tree("telemetry")?[$0] != nil }
        guard hasEndpoint else { return }
        for variable in Self.variables { self.apply(variable, to: &tree) }
        self.applyHeaders(to: &tree)
        self.applyAttributes(to: &tree)
        self.warn()
    }

    /// Removes the endpoints if a variable switches traces off. Call it after the gateway's own variables are applied.
    func switchOff(_ tree: inout SettingsTree) {
        guard self.isOff, var telemetry = tree.tree("telemetry"), let setting = tree["telemetry"] else { return }
        for name in Self.endpoints { telemetry[name] = nil }
        tree["telemetry"] = Setting(value: .tree(telemetry), origin: setting.origin, shown: "")
    }

    private func first(_ names: [String]) -> (name: String, text: String)? {
        for name in names {
            if let text = self.environment[name] { return (name, text) }
        }
        return nil
    }

    private mutating func apply(_ variable: Variable, to tree: inout SettingsTree) {
        guard let (name, text) = self.first(variable.names),
            let kind = (Section.telemetry[variable.key] ?? Section.exporter[variable.key])?.kind
        else { return }
        // A ratio is ignored if a sampler is set that takes no ratio.
        if variable.key == "ratio", let sampler = tree.setting(at: ["telemetry", "sampler"]).flatMap({ $0.value }),
            TelemetrySettings.Sampler.read(sampler)?.takesRatio != true
        {
            return
        }
        let written = variable.form == .word ? text.lowercased() : text
        self.set(name, written, kind, variable.key, in: variable.form, &tree)
        if let instead = variable.instead, case .file? = tree.setting(at: ["telemetry", instead])?.origin {
            self.remove(instead, from: &tree)
        }
    }

    private mutating func applyHeaders(to tree: inout SettingsTree) {
        let names = ["\(Self.exporter)TRACES_HEADERS", "\(Self.exporter)HEADERS"]
        for name in names {
            for (name, key, other) in [
                (name, "headers", "headers_file"), ("\(name)_FILE", "headers_file", "headers"),
            ] {
                guard let text = self.environment[name], let kind = Section.telemetry[key]?.kind else { continue }
                self.remove(other, from: &tree)
                return self.set(name, text, kind, key, &tree)
            }
        }
    }

    /// Adds the attributes in `OTEL_RESOURCE_ATTRIBUTES`. They replace attributes of the file with equal names. An
    /// attribute without a value is ignored, because templates may leave values empty.
    private mutating func applyAttributes(to tree: inout SettingsTree) {
        let name = "OTEL_RESOURCE_ATTRIBUTES"
        guard let text = self.environment[name] else { return }
        do throws(SyntaxFault) {
            for (key, value) in try nameValuePairs(in: text) where !value.isEmpty {
                guard let value = String(validating: value, as: UTF8.self) else {
                    throw SyntaxFault("write values in UTF-8, percent-encoded")
                }
                _ = try Self.read(key, TextRule.attributeName, "name")
                let read = try Self.read(value, TextRule.text, "value")
                if key == "service.name", case .file? = tree.setting(at: ["telemetry", "service_name"])?.origin {
                    self.remove("service_name", from: &tree)
                }
                tree.set(
                    Setting(value: read, origin: .environment(name), shown: value),
                    at: ["telemetry", "attributes", key]
                )
            }
        } catch {
            self.report(name, "attributes", found: quoted(text), "name=value,name=value", error.fix)
        }
    }

    /// Reads `part` of an attribute, its name or value. The advice of `rule` is about a key and is replaced.
    private static func read(_ text: String, _ rule: TextRule, _ part: String) throws(SyntaxFault) -> SettingValue {
        do throws(SyntaxFault) {
            return try rule.read(text)
        } catch {
            throw SyntaxFault("each \(part) is \(rule.allowed)")
        }
    }

    private mutating func set(
        _ name: String,
        _ text: String,
        _ kind: SettingKind,
        _ key: String,
        in form: Form = .asKey,
        _ tree: inout SettingsTree
    ) {
        let origin = SettingsOrigin.environment(name)
        let written = form == .milliseconds ? "\(text)ms" : text
        do throws(SyntaxFault) {
            let setting = Setting(value: try kind.read(written), origin: origin, shown: kind.shown(written)).at(origin)
            tree.set(setting, at: ["telemetry", key])
        } catch {
            var (allowed, fix) = (kind.allowed, error.fix)
            if form == .milliseconds { (allowed, fix) = Self.inMilliseconds(text, kind) }
            if key == "protocol", text == "grpc" {
                fix = "write http/protobuf: collectors accept it on port 4318, and gRPC is not supported"
            }
            self.report(name, key, found: kind.found(text), allowed, fix)
            tree.set(Setting(value: .invalid, origin: origin, shown: ""), at: ["telemetry", key])
        }
    }

    /// Returns the range of a variable in milliseconds, and advice about what to write instead of `text`.
    private static func inMilliseconds(_ text: String, _ kind: SettingKind) -> (allowed: String, fix: String) {
        func count(_ duration: Duration) -> String { "\(Int64(duration / .milliseconds(1)))" }
        guard case .duration(let range, _) = kind else { return (kind.allowed, "write another value") }
        let allowed = "milliseconds, a whole number from \(count(range.lowerBound)) to \(count(range.upperBound))"
        if let number = try? Quantity.duration("\(text)ms"), !range.contains(number) {
            return (allowed, "write a value in this range")
        }
        guard let duration = try? Quantity.duration(text), range.contains(duration) else {
            return (allowed, "write a whole number of milliseconds, without a unit")
        }
        return (allowed, "write \(count(duration))")
    }

    private func remove(_ key: String, from tree: inout SettingsTree) {
        guard var telemetry = tree.tree("telemetry"), let setting = tree["telemetry"] else { return }
        telemetry[key] = nil
        tree["telemetry"] = Setting(value: .tree(telemetry), origin: setting.origin, shown: "")
    }

    private mutating func report(_ name: String, _ key: String, found: String, _ allowed: String, _ fix: String) {
        self.problems.append(
            SettingsProblem(
                origin: .environment(name),
                key: Section.telemetry[key] == nil ? name : "telemetry.\(key)",
                found: found,
                allowed: allowed,
                fix: fix
            )
        )
    }

    /// Warns of unsupported values that can be ignored without harm.
    private mutating func warn() {
        if let (name, text) = self.first(["\(Self.exporter)TRACES_COMPRESSION", "\(Self.exporter)COMPRESSION"]),
            text != "none"
        {
            self.warnings.append(
                "\(name) is ignored: spans are sent without compression, which every collector accepts"
            )
        }
        let known = ["tracecontext", "baggage", "none"]
        let propagators = self.environment["OTEL_PROPAGATORS"]?.split(separator: ",").map { $0.filter { $0 != " " } }
        if let unknown = propagators?.first(where: { !known.contains($0.lowercased()) }) {
            self.warnings.append("OTEL_PROPAGATORS: \(quoted(unknown)) is ignored: only tracecontext is read")
        }
        if let disabled = self.environment["OTEL_SDK_DISABLED"], disabled.lowercased() != "false" {
            self.warnings.append("OTEL_SDK_DISABLED: \(quoted(disabled)) is ignored: only true switches traces off")
        }
        if let exporters = self.environment["OTEL_TRACES_EXPORTER"], exporters.lowercased() != "otlp" {
            self.warnings.append(
                "OTEL_TRACES_EXPORTER: \(quoted(exporters)) is ignored: traces are sent only with otlp"
            )
        }
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var withoutOuterSpaces: String {
        String(self.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
