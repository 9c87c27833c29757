package import Vocabulary

/// The collector of traces, the choice of traced requests, and the content of spans.
package struct TelemetrySettings: Sendable, Equatable {
    /// The encoding of spans for the collector.
    package enum Form: String, Sendable, CaseIterable, SettingWord {
        case protobuf = "http/protobuf"
        case json = "http/json"
    }

    /// The samplers of OpenTelemetry (`OTEL_TRACES_SAMPLER`).
    package enum Sampler: String, Sendable, CaseIterable, SettingWord {
        case alwaysOn = "always_on"
        case alwaysOff = "always_off"
        case ratio = "traceidratio"
        case parentOn = "parentbased_always_on"
        case parentOff = "parentbased_always_off"
        case parentRatio = "parentbased_traceidratio"

        /// Whether a span follows the decision of its parent.
        package var followsParent: Bool { self == .parentOn || self == .parentOff || self == .parentRatio }

        var takesRatio: Bool { self == .ratio || self == .parentRatio }
    }

    /// A share from 0 to 1.
    package struct Ratio: Sendable, Equatable {
        /// The share as written.
        let text: String
        package let value: Double

        /// Reads a decimal number from 0 to 1; `nil` for any other text.
        init?(_ text: String) {
            let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard (1...20).contains(text.utf8.count), parts.count <= 2,
                parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (0x30...0x39).contains($0) } }),
                let value = Double(text), (0...1).contains(value)
            else { return nil }
            self.text = text
            self.value = value
        }

        fileprivate init() {
            self.text = "1"
            self.value = 1
        }
    }

    /// A header field of requests to the collector.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: Secret
    }

    /// An attribute of the resource that sends spans.
    package struct Attribute: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// The URL to which spans are sent; `nil` if nothing is traced.
    package var url: String?
    package var form = Form.protobuf
    package var fields: [Field] = []
    package var caFile: String?
    package var clientCertificateFile: String?
    package var clientKeyFile: String?
    /// The time limit for an answer of the collector.
    package var timeout: Duration = .seconds(10)
    package var serviceName = "sallyport"
    package var attributes: [Attribute] = []
    package var sampler = Sampler.parentOn
    package var ratio = Ratio()
    package var trustsClients = false
    package var namesPaths = true
    package var batchDelay: Duration = .seconds(5)
    /// The maximum number of spans per export: twice OpenTelemetry's default, because exports are expensive.
    package var batchSize = 1024
    package var queueSize = 2048
    /// The time after which a batch that the collector does not accept is dropped.
    package var exportTimeout: Duration = .seconds(30)

    /// The recorded share of the traces that begin at the gateway.
    package var share: Double {
        switch self.sampler {
        case .alwaysOn, .parentOn: 1
        case .alwaysOff, .parentOff: 0
        case .ratio, .parentRatio: self.ratio.value
        }
    }
}

extension TelemetrySettings.Ratio: SettingScalar {
    static func read(_ value: SettingValue) -> Self? { String.read(value).flatMap { Self($0) } }

    func written(as kind: SettingKind) -> String? { self.text }
}
