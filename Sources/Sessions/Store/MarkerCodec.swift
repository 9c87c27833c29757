package import Vocabulary

extension Marker {
    /// The marker's bytes.
    package var encoded: [UInt8] {
        var writer = CompactWriter()
        switch self {
        case .used(let attempt, let session):
            writer.write(byte: 1)
            writer.write(attempt.value)
            writer.write(optional: session) { $0.write($1) }
        case .burned(let attempt, let reason):
            writer.write(byte: 2)
            writer.write(attempt.value)
            writer.write(reason.rawValue)
        }
        return writer.bytes
    }

    /// Reads the output of `encoded`. Further bytes are an error.
    package static func decoded(_ bytes: [UInt8]) throws(CompactFormatError) -> Marker {
        var reader = CompactReader(bytes)
        let isUse = try reader.byte()
        let attempt = AttemptID(value: try reader.text())
        let marker: Marker
        switch isUse {
        case 1:
            marker = .used(
                attempt,
                session: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() }
            )
        case 2:
            // A later version may have written a reason that this version does not know.
            guard let reason = Reason(rawValue: try reader.text()) else { throw CompactFormatError() }
            marker = .burned(attempt, reason)
        default: throw CompactFormatError()
        }
        try reader.finish()
        return marker
    }
}
