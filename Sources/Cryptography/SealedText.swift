package import Vocabulary

/// Sealed texts that browsers and providers keep for the gateway, in cookies and URLs.
extension SealingKeyRing {
    /// Seals a version byte and the output of `write` for a place, and returns the result in base64url.
    ///
    /// - Parameter place: The purpose of the text, and where it is valid. Must not begin with `sp:`, because the places
    ///   of records do.
    package func sealText(
        version: UInt8,
        for place: String,
        _ write: (inout CompactWriter) -> Void
    ) -> [UInt8] {
        var writer = CompactWriter()
        writer.write(byte: version)
        write(&writer)
        return Base64URL.encoded(self.seal(writer.bytes, for: Array(place.utf8)))
    }

    /// Opens a text that was sealed for this place in one of these versions. `nil` for any other text, including texts
    /// sealed under a secret that is no longer accepted.
    ///
    /// - Parameter longest: The maximum length in bytes. A longer text is not read.
    package func openText<Value>(
        _ text: [UInt8],
        longest: Int = .max,
        versions: ClosedRange<UInt8>,
        for place: String,
        _ read: (_ reader: inout CompactReader, _ version: UInt8) throws(CompactFormatError) -> Value
    ) -> Value? {
        guard text.count <= longest, let sealed = Base64URL.decoded(text[...]),
            let bytes = try? self.open(sealed, for: Array(place.utf8))
        else { return nil }
        var reader = CompactReader(bytes)
        do throws(CompactFormatError) {
            let version = try reader.byte()
            guard versions.contains(version) else { return nil }
            let value = try read(&reader, version)
            try reader.finish()
            return value
        } catch {
            return nil
        }
    }
}
