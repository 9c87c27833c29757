package import Vocabulary

/// The keys that an issuer publishes (RFC 7517 5).
package struct JWKSet: Sendable {
    package let keys: [JWK]
    /// The keys that were left out, with reasons: `key 2 (kid "a"): use is not sig`. Valid keys are still used.
    package let faults: [String]
    private let places: [String: [Int]]

    /// Reads a document of at most 256 KiB, 16 levels and 100 keys. Keys that are not public, or that cannot verify
    /// signatures, are left out.
    ///
    /// Several keys may share a `kid` if their kinds or algorithms differ (RFC 7517 4.5), or while an issuer rotates
    /// its key.
    package init(_ json: [UInt8], loneSurrogates: JSONText.LoneSurrogates = .refused) throws(JOSEError) {
        guard json.count <= JOSELimits.keySet else { throw JOSEError("the key set is too large") }
        let members: [String: JSONValue]
        do throws(JSONFault) {
            members = try JSONText.object(json, maxDepth: JOSELimits.depth, loneSurrogates: loneSurrogates)
        } catch {
            throw JOSEError("the key set \(error.rawValue)")
        }
        guard case .array(let values) = members["keys"] else {
            throw JOSEError("the key set is not a JSON object with an array in keys")
        }
        try self.init(values) { (value) throws(JOSEError) in try JWK(value) }
    }

    /// Creates a set of these keys. A repeated key is kept once.
    package init(keys: [JWK]) {
        self.init(keys: keys, faults: [])
    }

    init(_ values: [JSONValue], _ read: (JSONValue) throws(JOSEError) -> JWK) throws(JOSEError) {
        guard values.count <= JOSELimits.keys else { throw JOSEError("the key set has too many keys") }
        var keys: [JWK] = []
        var faults: [String] = []
        for (index, value) in values.enumerated() {
            do throws(JOSEError) {
                keys.append(try read(value))
            } catch {
                faults.append("\(Self.name(of: value, at: index)): \(error.detail)")
            }
        }
        self.init(keys: keys, faults: faults)
    }

    private init(keys: [JWK], faults: [String]) {
        var seen: Set<JWK> = []
        let kept = keys.filter { seen.insert($0).inserted }
        self.keys = kept
        self.faults = faults
        var places: [String: [Int]] = [:]
        for (index, key) in kept.enumerated() {
            if let keyID = key.keyID { places[keyID, default: []].append(index) }
        }
        self.places = places
    }

    /// Explains, at the end of a log message, why a published key may be missing from the set. Empty if every key was
    /// read and has a `kid`.
    package var shortcomings: String {
        let unnamed = self.keys.count { $0.keyID == nil }
        let named = unnamed == 0 ? "" : unnamed == 1 ? "; 1 key has no kid" : "; \(unnamed) keys have no kid"
        guard !self.faults.isEmpty else { return named }
        let told = self.faults.prefix(3).joined(separator: ", ")
        return "\(named); left out: \(told)\(self.faults.count > 3 ? ", and \(self.faults.count - 3) more" : "")"
    }

    /// The document, without the keys that were left out.
    package var value: JSONValue { ["keys": .array(self.keys.map(\.value))] }

    /// Returns the keys with this `kid`.
    package func keys(named keyID: String) -> [JWK] {
        (self.places[keyID] ?? []).map { self.keys[$0] }
    }

    /// Returns whether this set has a key with this `kid` and algorithm. For a token with no `kid`, any key suffices.
    ///
    /// - Parameter algorithm: The algorithm of the token; `nil` for any.
    package func holds(_ keyID: String?, for algorithm: JWSAlgorithm? = nil) -> Bool {
        guard let keyID else { return !self.keys.isEmpty }
        return (self.places[keyID] ?? []).contains { place in
            algorithm.map { self.keys[place].algorithms.contains($0) } ?? true
        }
    }

    /// Returns the name of a key in messages: `key 2 (kid "a")`.
    private static func name(of value: JSONValue, at index: Int) -> String {
        let keyID = value["kid"]?.string
        return keyID.map { "key \(index + 1) (\(Self.shown($0)))" } ?? "key \(index + 1)"
    }

    /// Returns `kid "a"`, with up to 64 printable characters: the text comes from a provider and goes to logs.
    private static func shown(_ keyID: String) -> String {
        let text = String(String.UnicodeScalarView(keyID.unicodeScalars.prefix(64).filter { (" "..."~").contains($0) }))
        return "kid \"\(text)\""
    }
}
