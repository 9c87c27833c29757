import Vocabulary

/// Authentication methods by the values that are registered for `amr` (RFC 8176 2), which relying parties compare. Headers,
/// introspection and sessions keep the names that the provider uses.
enum RegisteredMethods {
    /// The registered values of the gateway's and Kratos's own names.
    private static let values = [
        "password": "pwd", "totp": "otp", "code": "otp", "lookup_secret": "otp", "webauthn": "hwk", "passkey": "pop",
    ]

    /// The value of each method, once; `mfa` beside them if several led to two factors. A method without a registered value
    /// keeps its name.
    static func names(of methods: [String], level: AssuranceLevel?) -> [String] {
        var names: [String] = []
        for method in methods.map({ Self.values[$0] ?? $0 }) where !names.contains(method) { names.append(method) }
        let isMultiple = methods.count > 1 && level.map { $0 >= .aal2 } == true
        return isMultiple && !names.contains("mfa") ? names + ["mfa"] : names
    }
}
