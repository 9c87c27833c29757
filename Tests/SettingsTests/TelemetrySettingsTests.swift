import Settings
import Testing
import Vocabulary

@Suite("Telemetry")
struct TelemetrySettingsTests {
    private func load(
        _ text: String = "",
        _ variables: [String: String] = [:]
    ) -> Result<LoadedSettings, SettingsFailure> {
        SettingsBench(environment: variables).load(SettingsBench.base + text)
    }

    private func telemetry(_ text: String = "", _ variables: [String: String] = [:]) throws -> TelemetrySettings {
        try self.load(text, variables).get().settings.telemetry
    }

    private static let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"]

    @Test("Without an endpoint nothing is traced, whatever else the environment says")
    func off() throws {
        #expect(try self.telemetry().url == nil)
        let variables = [
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_TRACES_SAMPLER": "jaeger_remote", "OTEL_SERVICE_NAME": "x",
            "OTEL_BSP_MAX_QUEUE_SIZE": "many", "OTEL_SOMETHING_ELSE": "1",
        ]
        #expect(try self.telemetry("", variables).url == nil)
        #expect(try self.telemetry("", Self.endpoint.merging(["OTEL_SDK_DISABLED": "true"]) { $1 }).url == nil)
        #expect(try self.telemetry("", Self.endpoint.merging(["OTEL_TRACES_EXPORTER": "none"]) { $1 }).url == nil)
        let disabled = ["OTEL_SDK_DISABLED": "TRUE", "SALLYPORT_TELEMETRY_ENDPOINT": "http://127.0.0.1:1"]
        #expect(try self.telemetry("telemetry: {endpoint: \"http://127.0.0.1:4318\"}", disabled).url == nil)
    }

    @Test("The path for traces is appended to the endpoint, and not to the URL for traces")
    func urls() throws {
        #expect(try self.telemetry("", Self.endpoint).url == "http://collector:4318/v1/traces")
        let endpoint = try self.telemetry("telemetry: {endpoint: \"https://c.example/otlp/\"}")
        #expect(endpoint.url == "https://c.example/otlp/v1/traces")
        let whole = try self.telemetry("telemetry: {traces_endpoint: \"https://c.example/t?x=1\"}")
        #expect(whole.url == "https://c.example/t?x=1")
        let both = Self.endpoint.merging(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1/own"]) { $1 }
        #expect(try self.telemetry("", both).url == "http://t:1/own")
    }

    @Test("A variable replaces what the file says, and the gateway's own variable replaces that")
    func precedence() throws {
        let file = "telemetry: {traces_endpoint: \"http://file/t\", service_name: file, headers_file: /etc/sallyport/x}"
        let variables = Self.endpoint.merging([
            "OTEL_SERVICE_NAME": "otel", "OTEL_EXPORTER_OTLP_HEADERS": "a=1,b=x%20y",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "c=3",
        ]) { $1 }
        let settings = try self.telemetry(file, variables)
        #expect(settings.url == "http://collector:4318/v1/traces")
        #expect(settings.serviceName == "otel")
        #expect(settings.fields.map(\.name) == ["c"])
        #expect(settings.fields.map(\.value) == [Secret("3")])
        let own = variables.merging(["SALLYPORT_TELEMETRY_SERVICE_NAME": "own"]) { $1 }
        #expect(try self.telemetry(file, own).serviceName == "own")
    }

    @Test("Variables have the meanings of OpenTelemetry")
    func variables() throws {
        let settings = try self.telemetry(
            "",
            Self.endpoint.merging([
                "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc, x-tenant = a ",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
                "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
                "OTEL_TRACES_SAMPLER_ARG": "0.01", "OTEL_BSP_SCHEDULE_DELAY": "250",
                "OTEL_BSP_MAX_QUEUE_SIZE": "4096", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "100",
                "OTEL_BSP_EXPORT_TIMEOUT": "3000",
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=edge,deployment.environment.name=prod%2C1",
            ]) { $1 }
        )
        #expect(settings.fields.map(\.name) == ["authorization", "x-tenant"])
        #expect(settings.fields.first?.value == Secret("Bearer abc"))
        #expect(settings.fields.last?.value == Secret("a"))
        #expect(settings.form == .json)
        #expect(settings.timeout == .milliseconds(2500))
        #expect(settings.sampler == .parentRatio)
        #expect(settings.share == 0.01)
        #expect(settings.batchDelay == .milliseconds(250))
        #expect(settings.queueSize == 4096)
        #expect(settings.batchSize == 100)
        #expect(settings.exportTimeout == .seconds(3))
        #expect(settings.serviceName == "edge")
        #expect(settings.attributes.map(\.name) == ["deployment.environment.name"])
        #expect(settings.attributes.map(\.value) == ["prod,1"])
    }

    @Test(
        "An endpoint of gRPC, or with the path of traces, is warned of",
        arguments: [
            ("http://collector:4317", "port 4317, where collectors accept gRPC; OTLP over HTTP is at 4318"),
            ("https://[::1]:4317/otel", "port 4317"),
            ("http://collector:4318/v1/traces", "already ends with /v1/traces"),
            ("http://collector:4318/v1/traces/", "already ends with /v1/traces"), ("http://collector:4318", nil),
            ("http://collector:14317/4317", nil),
        ]
    )
    func doubtfulEndpoint(url: String, words: String?) throws {
        let loaded = try SettingsBench().load(SettingsBench.base + "telemetry: {endpoint: \"\(url)\"}\n").get()
        let warnings = loaded.warnings.filter { $0.hasPrefix("telemetry") }
        #expect(warnings.count == (words == nil ? 0 : 1), "\(warnings)")
        if let words { #expect(warnings.first?.contains(words) == true, "\(warnings)") }
    }

    @Test(
        "A variable that cannot be followed stops the start and is named",
        arguments: [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "4318"), ("OTEL_TRACES_SAMPLER", "jaeger_remote", "always_on"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "many", "whole number"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "write 10000"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon", "without a unit"),
            ("OTEL_BSP_SCHEDULE_DELAY", "0", "write a value in this range"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318", "begin with https:// or http://"),
            ("OTEL_BSP_EXPORT_TIMEOUT", "5", "from 1000 to 600000"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://x", "http"), ("OTEL_RESOURCE_ATTRIBUTES", "x", "name=value"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem", "path"),
        ]
    )
    func refused(name: String, value: String, words: String) throws {
        guard case .failure(let failure) = self.load("", Self.endpoint.merging([name: value]) { $1 }) else {
            Issue.record("\(name)=\(value) is accepted")
            return
        }
        let text = failure.problems.map(\.description).joined(separator: "\n")
        #expect(text.contains(name))
        #expect(text.contains(words))
    }

    @Test("Headers are never shown, neither valid nor wrong ones", arguments: ["a=SECRET", "SECRET", "host=SECRET"])
    func secrets(value: String) {
        let variables = Self.endpoint.merging(["OTEL_EXPORTER_OTLP_HEADERS": value]) { $1 }
        switch self.load("", variables) {
        case .success(let loaded):
            #expect(!loaded.describe().contains("SECRET"))
            #expect(loaded.warnings.contains { $0.contains("without TLS") })
        case .failure(let failure):
            #expect(!failure.problems.map(\.description).joined().contains("SECRET"))
        }
    }

    @Test("What is not followed and does no harm is a warning")
    func warnings() throws {
        let variables = Self.endpoint.merging([
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_PROPAGATORS": "tracecontext,b3",
        ]) { $1 }
        let warnings = try self.load("", variables).get().warnings
        #expect(warnings.contains { $0.contains("OTEL_EXPORTER_OTLP_COMPRESSION") })
        #expect(warnings.contains { $0.contains("b3") })
    }

    @Test("A variable is the same with white space at its ends, and its words in capitals")
    func loosely() throws {
        let settings = try self.telemetry(
            "telemetry: {service_name: file}",
            [
                "OTEL_EXPORTER_OTLP_ENDPOINT": " http://collector:4318\r\n", "OTEL_SERVICE_NAME": " \t",
                "OTEL_TRACES_SAMPLER": "TraceIDRatio", "OTEL_TRACES_SAMPLER_ARG": "0.5 ",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "HTTP/JSON", "OTEL_EXPORTER_OTLP_HEADERS": "a=1\n",
            ]
        )
        #expect(settings.url == "http://collector:4318/v1/traces")
        #expect(settings.serviceName == "file")
        #expect(settings.sampler == .ratio)
        #expect(settings.share == 0.5)
        #expect(settings.form == .json)
        #expect(settings.fields.map(\.value) == [Secret("1")])
        for off in [["OTEL_SDK_DISABLED": " True"], ["OTEL_TRACES_EXPORTER": "NONE "]] {
            #expect(try self.telemetry("", Self.endpoint.merging(off) { $1 }).url == nil, "\(off)")
        }
        let doubtful = Self.endpoint.merging(["OTEL_SDK_DISABLED": "1", "OTEL_TRACES_EXPORTER": "OTLP"]) { $1 }
        let warnings = try self.load("", doubtful).get().warnings
        #expect(warnings.filter { $0.hasPrefix("OTEL_") }.count == 1, "\(warnings)")
        #expect(warnings.contains { $0.contains("only true switches traces off") }, "\(warnings)")
    }

    @Test("An attribute without a value is left out, and its name may be encoded; a wrong one is told from its value")
    func attributes() throws {
        func load(_ text: String, _ file: String = "") -> Result<LoadedSettings, SettingsFailure> {
            self.load(file, Self.endpoint.merging(["OTEL_RESOURCE_ATTRIBUTES": text]) { $1 })
        }
        let settings = try load("service.namespace=,k8s%2Epod=a%20b,service.name=").get().settings.telemetry
        #expect(settings.attributes.map(\.name) == ["k8s.pod"])
        #expect(settings.attributes.map(\.value) == ["a b"])
        #expect(settings.serviceName == "sallyport")
        // The variable is before the file, whichever of both ways it names the service.
        let named = try load("service.name=variable", "telemetry: {service_name: file}").get()
        #expect(named.settings.telemetry.serviceName == "variable")
        #expect(!named.describe().contains("service_name: file"))
        for (text, words) in [
            ("a b=c", "each name is 1 to 128 letters, digits"), ("a=%FF", "UTF-8"), ("a=%zz", "%25"), ("%zz=a", "%25"),
            ("a=b%0Ac", "each value is a text"), ("=b", "each name is"),
        ] {
            guard case .failure(let failure) = load(text) else {
                Issue.record("\(text) is accepted")
                continue
            }
            #expect(failure.problems.map(\.description).joined().contains(words), "\(failure.problems)")
        }
    }

    @Test(
        "A header that says how spans are sent is refused, and so is one that is no text",
        arguments: ["content-encoding=gzip", "Expect=100-continue", "te=trailers", "upgrade=h2c", "a=%E9", "%E9=a"]
    )
    func headers(text: String) {
        let problems = SettingsBench().problems(adding: "telemetry: {headers: \"\(text)\"}")
        #expect(problems.map(\.key) == ["telemetry.headers"])
    }

    @Test("A URL for traces without a path is warned of: it is taken as it is")
    func bareURL() throws {
        for (url, isDoubtful) in [
            ("http://c:4318", true), ("https://c.example/", true), ("http://c:4318?k=1", true),
            ("http://c:4318/v1/traces", false), ("https://c.example/t/?k=/", false),
        ] {
            let loaded = try self.load("telemetry: {traces_endpoint: \"\(url)\"}").get()
            #expect(loaded.warnings.contains { $0.contains("has no path") } == isDoubtful, "\(url)")
        }
        let base = try self.load("telemetry: {endpoint: \"http://c:4318\"}").get()
        #expect(!base.warnings.contains { $0.contains("has no path") })
    }

    @Test("A ratio is a decimal number from 0 to 1", arguments: ["2", "-1", "x", "1e-3", ".", "1.1", "0,5", "nan"])
    func ratios(text: String) {
        let problems = SettingsBench().problems(adding: "telemetry: {sampler: traceidratio, ratio: \"\(text)\"}")
        #expect(problems.count == 1)
        #expect(problems.first?.key == "telemetry.ratio")
    }

    @Test("Neither a query nor a user of a URL is shown, of a valid one and of a wrong one")
    func urlSecrets() throws {
        let endpoint = SettingsBench().problems(adding: "telemetry: {endpoint: \"https://c.example?key=SECRET\"}")
        #expect(endpoint.map(\.key) == ["telemetry.endpoint"])
        #expect(!endpoint.map(\.description).joined().contains("SECRET"))
        for key in ["telemetry.traces_endpoint", "SALLYPORT_TELEMETRY_TRACES_ENDPOINT"] {
            for url in [
                "https://c.example/t?api-key=SECRET", "ftp://c.example/t?api-key=SECRET",
                "https://u:SECRET@c.example/t", "u:SECRET@c.example/t", "https://c.example/ t?k=SECRET",
            ] {
                let inFile = key.hasPrefix("telemetry") ? "telemetry: {traces_endpoint: \"\(url)\"}" : ""
                switch self.load(inFile, inFile.isEmpty ? [key: url] : [:]) {
                case .success(let loaded):
                    #expect(loaded.settings.telemetry.url == url)
                    #expect(!loaded.describe().contains("SECRET"))
                    #expect(loaded.describe().contains("https://c.example/t?<redacted>"))
                case .failure(let failure):
                    let text = failure.problems.map(\.description).joined()
                    #expect(!text.contains("SECRET"), "\(url)")
                    #expect(!url.hasPrefix("https://c.example/t"))
                }
            }
        }
    }

    @Test(
        "A batch that the queue cannot hold has the size of the queue, and a variable that asks for more is warned of"
    )
    func clippedBatch() throws {
        let queue = Self.endpoint.merging(["OTEL_BSP_MAX_QUEUE_SIZE": "100"]) { $1 }
        #expect(try self.telemetry("", queue).batchSize == 100)
        #expect(try !self.load("", queue).get().warnings.contains { $0.contains("a batch has") })
        let both = queue.merging(["OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "400"]) { $1 }
        let loaded = try self.load("", both).get()
        #expect(loaded.settings.telemetry.batchSize == 100)
        #expect(loaded.warnings.contains { $0.contains("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") })
    }

    @Test(
        "What tunes the exporter is no key of the file, and the message names the variable",
        arguments: [
            ("timeout", "OTEL_EXPORTER_OTLP_TIMEOUT"), ("batch_delay", "OTEL_BSP_SCHEDULE_DELAY"),
            ("batch_size", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), ("queue_size", "OTEL_BSP_MAX_QUEUE_SIZE"),
            ("export_timeout", "OTEL_BSP_EXPORT_TIMEOUT"),
        ]
    )
    func tuning(key: String, variable: String) {
        let problems = SettingsBench().problems(adding: "telemetry: {\(key): 100}")
        #expect(problems.map(\.key) == ["telemetry.\(key)"])
        #expect(problems.first?.fix.contains("set the variable \(variable)") == true)
    }

    @Test("A certificate needs its key")
    func together() {
        let certificate = SettingsBench().problems(
            adding: "telemetry: {client_certificate_file: /etc/sallyport/client.pem}"
        )
        #expect(certificate.map(\.key) == ["telemetry.client_key_file"])
    }
}
