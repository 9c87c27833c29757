package import Vocabulary

/// The parameters of a request to a token endpoint, from a form (RFC 6749 4) or a JSON object (what Auth0's SDKs send).
///
/// Empty parameters are treated as absent, repeated ones are rejected, and unknown ones are ignored (RFC 6749 3.2).
package struct TokenRequest: Sendable {
    private let parameters: BodyParameters

    /// Reads the body of `request`. Throws `invalid_request` if the body cannot be read.
    ///
    /// - Parameter readsJSONAsForm: See `BodyParameters`.
    package init(_ request: EndpointRequest, readsJSONAsForm: Bool = false) throws(OAuthError) {
        do throws(BodyParameters.Failure) {
            self.parameters = try BodyParameters(request, readsJSONAsForm: readsJSONAsForm)
        } catch {
            throw .invalidRequest(error.sentence)
        }
    }

    /// Returns the text of the parameter. `nil` if it is absent or empty.
    package func text(_ name: String) throws(OAuthError) -> String? {
        guard let value = self.parameters[name] else { return nil }
        guard let text = value.string else { throw .invalidRequest("The parameter \(name) must be a string.") }
        return text
    }

    /// Returns all parameters, which must be texts.
    func texts() throws(OAuthError) -> [(name: String, value: String)] {
        var texts: [(name: String, value: String)] = []
        for name in self.parameters.names { texts.append((name, try self.required(name))) }
        return texts
    }

    /// Returns the value of the parameter, of any type. `nil` if it is absent or empty.
    package func value(_ name: String) -> JSONValue? { self.parameters[name] }

    /// Returns the text of a required parameter.
    package func required(_ name: String) throws(OAuthError) -> String {
        guard let text = try self.text(name) else { throw .invalidRequest("The parameter \(name) is missing.") }
        return text
    }

    /// Returns `audience`, or its synonym `resource` (RFC 8707). `nil` if both are absent.
    package func audience() throws(OAuthError) -> String? {
        guard let resource = try self.text("resource") else { return try self.text("audience") }
        guard let audience = try self.text("audience"), audience != resource else { return resource }
        throw OAuthError(.oauthInvalidTarget)
    }

    /// Returns the elements of `scope` (RFC 6749 3.3). `nil` if it is absent.
    package func scopes() throws(OAuthError) -> [String]? {
        try self.text("scope").map { $0.split(separator: " ").map(String.init) }
    }
}
