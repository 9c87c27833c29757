package import Calls
import Vocabulary

/// An issuer's metadata (OpenID Connect Discovery 1.0 3, RFC 8414 2).
package struct ProviderMetadata: Sendable, Hashable {
    package let authorizationEndpoint: EndpointURL
    package let tokenEndpoint: EndpointURL
    /// `jwks_uri`
    package let keySetURL: EndpointURL
    package let userinfoEndpoint: EndpointURL?
    package let endSessionEndpoint: EndpointURL?
    package let revocationEndpoint: EndpointURL?
    package let introspectionEndpoint: EndpointURL?
    /// True if each authorization response has `iss` (RFC 9207 3).
    package let announcesIssuer: Bool
    /// True if logout tokens and id_tokens have a `sid` (OpenID Connect Back-Channel Logout 1.0 2.1).
    package let namesSessions: Bool
    /// The signature algorithms of id_tokens; empty if not stated.
    package let signingAlgorithms: [String]
    /// The client authentication methods of the token endpoint; empty if not stated.
    package let clientAuthentications: [String]
    /// The PKCE methods; empty if not stated.
    package let challengeMethods: [String]
    /// The response modes of the authorization endpoint; empty if not stated.
    package let responseModes: [String]
    /// The scopes that clients may request. Empty if not stated.
    package let scopes: [String]
    /// The optional endpoints that cannot be used, with the reason, such as `end_session_endpoint is not a text`. They
    /// are treated as missing.
    package let faults: [String]

    /// Reads the metadata of `issuer`. Throws if they name another issuer, or if an endpoint for sign-in is missing or
    /// not https. An http issuer may have http endpoints.
    package init(_ body: [UInt8], of issuer: EndpointURL) throws(MetadataError) {
        let value: JSONValue
        do throws(JSONFault) {
            value = .object(try JSONText.object(body, loneSurrogates: .replaced))
        } catch {
            throw MetadataError("it \(error.rawValue)")
        }
        try Self.checkIssuer(value["issuer"]?.string, issuer.text)
        func endpoint(_ name: String) throws(MetadataError) -> EndpointURL? {
            guard let member = value[name] else { return nil }
            guard let text = member.string else { throw MetadataError("\(name) is not a text") }
            let url: EndpointURL
            do throws(EndpointURLError) {
                url = try EndpointURL(text)
            } catch {
                throw MetadataError("\(name) cannot be used: \(error)")
            }
            guard url.isHTTPS || !issuer.isHTTPS else { throw MetadataError("\(name) is not https, as the issuer is") }
            return url
        }
        func required(_ name: String) throws(MetadataError) -> EndpointURL {
            guard let url = try endpoint(name) else { throw MetadataError("\(name) is missing") }
            return url
        }
        var faults: [String] = []
        func optional(_ name: String) -> EndpointURL? {
            do throws(MetadataError) {
                return try endpoint(name)
            } catch {
                faults.append(error.description)
                return nil
            }
        }
        func texts(_ name: String) -> [String] {
            guard case .array(let elements) = value[name] else { return [] }
            return elements.compactMap(\.string)
        }
        self.authorizationEndpoint = try required("authorization_endpoint")
        self.tokenEndpoint = try required("token_endpoint")
        self.keySetURL = try required("jwks_uri")
        self.userinfoEndpoint = optional("userinfo_endpoint")
        self.endSessionEndpoint = optional("end_session_endpoint")
        self.revocationEndpoint = optional("revocation_endpoint")
        self.introspectionEndpoint = optional("introspection_endpoint")
        self.faults = faults
        self.announcesIssuer = value["authorization_response_iss_parameter_supported"] == .bool(true)
        self.namesSessions = value["backchannel_logout_session_supported"] == .bool(true)
        self.signingAlgorithms = texts("id_token_signing_alg_values_supported")
        self.clientAuthentications = texts("token_endpoint_auth_methods_supported")
        self.challengeMethods = texts("code_challenge_methods_supported")
        self.responseModes = texts("response_modes_supported")
        self.scopes = texts("scopes_supported")
    }

    /// Returns the URL of an issuer's metadata document (OpenID Connect Discovery 1.0 4).
    package static func location(of issuer: EndpointURL) -> String {
        let base = issuer.text.hasSuffix("/") ? String(issuer.text.dropLast()) : issuer.text
        return base + "/.well-known/openid-configuration"
    }

    /// Checks that both issuers are identical (OpenID Connect Discovery 1.0 4.3).
    private static func checkIssuer(_ found: String?, _ configured: String) throws(MetadataError) {
        guard let found else { throw MetadataError("issuer is missing") }
        guard !found.isExactly(configured) else { return }
        guard found.isPlain(upTo: 256) else { throw MetadataError("issuer is not the configured \(configured)") }
        let slash = (found + "/").isExactly(configured) || found.isExactly(configured + "/")
        throw MetadataError(
            "issuer is \(found), but the configured one is \(configured): "
                + (slash
                    ? "the slash at the end counts, configure it as the issuer writes it" : "they must be identical")
        )
    }
}

/// The reason why an issuer's metadata cannot be read.
package struct MetadataError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
