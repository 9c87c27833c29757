package import Vocabulary

/// The keys that an issuer publishes (RFC 7517 5).
package struct JWKSet: Sendable {
    package let keys: [JWK]
    /// The keys that were left out, and why: `key 2 (kid "a"): use is not sig`. One bad key does not spoil a set.
    package let faults: [String]
    private let places: [String: [Int]]

    /// Reads a document of at most 256 KiB, 16 levels and 100 keys. Keys that are not public, or that cannot verify
    /// signatures, are left out.
    ///
    /// Several keys may have one `kid`: of different kinds (RFC 7517 4.5), or for different algorithms, or of one kind
    /// while an issuer goes over to a new key.
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

    /// A set of these keys.
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
        // The same key twice counts once.
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

    /// Why a key that the issuer has published may not be in the set, to be written behind what a log says of the missing
    /// key; empty if there is nothing to say.
    package var shortcomings: String {
        let unnamed = self.keys.count { $0.keyID == nil }
        let named = unnamed == 0 ? "" : unnamed == 1 ? "; 1 key has no kid" : "; \(unnamed) keys have no kid"
        guard !self.faults.isEmpty else { return named }
        let told = self.faults.prefix(3).joined(separator: ", ")
        return "\(named); left out: \(told)\(self.faults.count > 3 ? ", and \(self.faults.count - 3) more" : "")"
    }

    /// The document, without what was left out.
    package var value: JSONValue { ["keys": .array(self.keys.map(\.value))] }

    /// The keys of this `kid`.
    package func keys(named keyID: String) -> [JWK] {
        (self.places[keyID] ?? []).map { self.keys[$0] }
    }

    /// Whether a token with this `kid`, or with none, can be verified with a key of this set.
    ///
    /// - Parameter algorithm: That of the token; nil: any.
    package func holds(_ keyID: String?, for algorithm: JWSAlgorithm? = nil) -> Bool {
        guard let keyID else { return !self.keys.isEmpty }
        return (self.places[keyID] ?? []).contains { place in
            algorithm.map { self.keys[place].algorithms.contains($0) } ?? true
        }
    }

    /// `key 2 (kid "a")`
    private static func name(of value: JSONValue, at index: Int) -> String {
        let keyID = value["kid"]?.string
        return keyID.map { "key \(index + 1) (\(Self.shown($0)))" } ?? "key \(index + 1)"
    }

    /// `kid "a"`, cut to 64 characters, printable ones only: the text comes from a provider and goes to logs.
    private static func shown(_ keyID: String) -> String {
        let text = String(String.UnicodeScalarView(keyID.unicodeScalars.prefix(64).filter { (" "..."~").contains($0) }))
        return "kid \"\(text)\""
    }
}
