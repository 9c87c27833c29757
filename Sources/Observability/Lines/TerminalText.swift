import Vocabulary

/// Formats a line of the log, the access log or the audit stream for a terminal.
package enum TerminalText {
    /// The members that are not shown as `name=value`, because they are shown in another way or not at all.
    private static let unshown: Set<String> = [
        "stream", "time", "level", "logger", "message", "fields", "event", "method", "host", "path", "status",
        "duration_us",
        "request_id", "user_agent", "referer", "protocol", "bytes_in", "bytes_out", "cache", "fingerprint",
        "token_fingerprint", "upstream_us", "upstream_reused", "client", "address", "code", "description",
    ]

    /// Returns the line as text, e.g. `15:04:05 GET app.example.com/x 200 1.2 ms route=...`, without a line end.
    ///
    /// - Parameter line: A JSON line of a stream. Any other text is returned with control characters replaced.
    package static func line(_ line: some Sequence<UInt8>) -> String {
        let bytes = Array(line)
        guard case .object(let members)? = JSONText.decode(bytes), let stream = members["stream"]?.string else {
            return self.visible(String(decoding: bytes, as: UTF8.self))
        }
        let time = (members["time"]?.string ?? "").dropFirst(11).prefix(8)
        var words: [String] = [String(time)]
        switch stream {
        case "access":
            let place = "\(members["host"]?.string ?? "")\(members["path"]?.string ?? "")"
            words.append("\(members["method"]?.string ?? "-") \(place) \(self.text(members["status"]))")
            if case .integer(let duration)? = members["duration_us"] { words.append(self.milliseconds(duration)) }
        case "log":
            if let level = members["level"]?.string, level != "info" { words.append(level.uppercased()) }
            words.append(members["message"]?.string ?? "")
        default:
            words.append("\(stream) \(members["event"]?.string ?? "")")
        }
        var fields = members.filter { !self.unshown.contains($0.key) }
        if case .object(let more)? = members["fields"] { fields.merge(more) { $1 } }
        words += fields.sorted { $0.key < $1.key }.map { "\($0.key)=\(self.text($0.value))" }
        return self.visible(words.joined(separator: " "))
    }

    private static func text(_ value: JSONValue?) -> String {
        guard let value else { return "-" }
        return value.string ?? String(decoding: JSONText.encode(value), as: UTF8.self)
    }

    private static func milliseconds(_ microseconds: Int64) -> String {
        let tenths = microseconds / 100
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) ms" : "\(tenths / 10) ms"
    }

    /// Replaces characters that control a terminal or reorder text (CWE-150). Clients choose parts of the text.
    private static func visible(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: shown.append("?")
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }
}
