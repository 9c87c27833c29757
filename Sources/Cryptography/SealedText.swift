package import Vocabulary

/// What browsers and providers keep for the gateway, in cookies and URLs: nothing is stored for it, and nobody else can make
/// or read it.
extension SealingKeyRing {
    /// What `write` writes, behind the version of its form: sealed for a place, in base64url.
    ///
    /// - Parameter place: What the text is for, and where it is valid. Nothing else is sealed for such a place: those of
    ///   records begin with `sp:`.
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

    /// What was sealed for this place in one of these versions; nil for all else, also for what was sealed under a secret
    /// that is no longer accepted.
    ///
    /// - Parameter longest: In bytes. A longer text is not read.
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
