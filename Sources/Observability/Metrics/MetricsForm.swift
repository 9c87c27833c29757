package import Vocabulary

/// The text formats for metrics. Both show the same series.
package enum MetricsForm: Sendable, CaseIterable {
    /// Prometheus's text format 0.0.4.
    case text
    /// OpenMetrics 1.0. Only this format has exemplars, which link histograms to traces.
    case openMetrics

    package var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Chooses the format that a scraper prefers (RFC 9110 12.5.1).
    ///
    /// - Parameter accept: The values of the header `Accept`. If they name neither format, the format is `text`.
    package init(accept: [String]) {
        var (text, open) = (0.0, 0.0)
        for part in accept.joined(separator: ",").split(separator: ",") {
            let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = pieces.first else { continue }
            let parameters = pieces.dropFirst()
            let weight = parameters.first { $0.hasPrefix("q=") }.map { Self.weight($0.dropFirst(2)) } ?? 1
            let version = parameters.first { $0.hasPrefix("version=") }?.dropFirst(8)
            switch type {
            case "application/openmetrics-text" where version == nil || version == "1.0.0": open = max(open, weight)
            case "text/plain", "text/*", "*/*": text = max(text, weight)
            default: break
            }
        }
        self = open > 0 && open >= text ? .openMetrics : .text
    }

    /// Reads a weight (RFC 9110 12.4.2); 0 if malformed.
    private static func weight(_ text: Substring) -> Double {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
            let weight = Double(text), weight <= 1
        else { return 0 }
        return weight
    }
}

/// Links a histogram to a request: the request's trace and duration.
@usableFromInline
package struct Exemplar: Sendable {
    @usableFromInline package let trace: TraceID
    @usableFromInline package let nanoseconds: Int64
    @usableFromInline let milliseconds: Int64

    /// The end of the request.
    package var at: UnixTime { UnixTime(milliseconds: self.milliseconds) }

    /// - Parameter milliseconds: The end of the request, in milliseconds since 1970.
    @inlinable @inline(__always)
    package init(trace: TraceID, nanoseconds: Int64, at milliseconds: Int64) {
        self.trace = trace
        self.nanoseconds = nanoseconds
        self.milliseconds = milliseconds
    }
}
