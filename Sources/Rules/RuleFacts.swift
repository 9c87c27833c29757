package import AddressIntelligence
package import Vocabulary

/// The facts that rules may use about an act: a sign-in, an exchange, or the minting or use of a session-transfer
/// token.
package struct RuleFacts: Sendable {
    /// The facts about a request that rules may use.
    package struct Request: Sendable {
        package var address: IPAddress
        /// The autonomous system number of the address. `nil` if unknown.
        package var asn: UInt32?
        package var userAgent: String?
        /// The client's TLS certificate. `nil` if the client presents none, or if it is not known.
        package var certificate: Certificate?

        package init(address: IPAddress, asn: UInt32?, userAgent: String?, certificate: Certificate? = nil) {
            self.address = address
            self.asn = asn
            self.userAgent = userAgent
            self.certificate = certificate
        }
    }

    /// The facts about a client's certificate that rules may use. The texts are formatted as in identity headers.
    package struct Certificate: Sendable {
        /// The SHA-256 of the certificate in hexadecimal.
        package var sha256: String
        package var subject: String
        package var issuer: String
        package var serial: String
        package var names: [String]

        package init(sha256: String, subject: String, issuer: String, serial: String, names: [String]) {
            self.sha256 = sha256
            self.subject = subject
            self.issuer = issuer
            self.serial = serial
            self.names = names
        }

        fileprivate var event: JSONValue {
            .object([
                "sha256": .string(self.sha256), "subject": .string(self.subject), "issuer": .string(self.issuer),
                "serial": .string(self.serial), "san": .array(self.names.map(JSONValue.string)),
            ])
        }
    }

    /// A session-transfer token.
    package struct Token: Sendable {
        /// The client that requested the token.
        package var clientID: String
        package var scopes: [String]
        /// The request for the token.
        package var request: Request

        package init(clientID: String, scopes: [String], request: Request) {
            self.clientID = clientID
            self.scopes = scopes
            self.request = request
        }
    }

    package var request: Request
    /// The host of the request, without its port. `nil` if unknown.
    package var hostname: String?
    /// The session-transfer token that is consumed. `nil` at other stages.
    package var token: Token?
    /// The name of the user's provider. Auth0 calls providers connections.
    package var provider: String
    package var userID: String
    package var traits: JSONValue
    /// The id of the actor who acts for the user in the session. `nil` without an actor.
    package var actor: String?
    /// The client that makes the request. `nil` if no client takes part.
    package var clientID: String?
    /// The access token that an exchange would return. `nil` at other stages.
    package var exchange: Exchange?

    /// An access token to be issued.
    package struct Exchange: Sendable {
        /// The audience of the API. `nil` if the token is for no API.
        package var audience: String?
        package var scopes: [String]

        package init(audience: String?, scopes: [String]) {
            self.audience = audience
            self.scopes = scopes
        }
    }

    /// - Parameter authority: `host[:port]` of the request.
    package init(
        request: Request,
        authority: String?,
        token: Token? = nil,
        provider: String = Realm.default.name,
        userID: String,
        traits: JSONValue,
        actor: String? = nil,
        clientID: String?,
        exchange: Exchange? = nil
    ) {
        self.exchange = exchange
        self.request = request
        self.hostname = authority.map(Self.hostname)
        self.token = token
        self.provider = provider
        self.userID = userID
        self.traits = traits
        self.actor = actor
        self.clientID = clientID
    }

    /// Returns the event that conditions read, in the shape of `event` in Auth0's post-login Actions. Unknown members
    /// are left out.
    ///
    /// The request for the transfer token and the request that presents it are looked up in one database. Two databases
    /// could place one device in two countries.
    package func event(_ places: GeoDirectory?) -> JSONValue {
        var members: [String: JSONValue] = [:]
        var request = Self.members(of: self.request, places)
        request["hostname"] = self.hostname.map(JSONValue.string)
        members["request"] = .object(request)
        if let token = self.token {
            members["session_transfer_token"] = .object([
                "client_id": .string(token.clientID),
                "scope": .array(token.scopes.map(JSONValue.string)),
                "request": .object(Self.members(of: token.request, places)),
            ])
        }
        var user: [String: JSONValue] = [:]
        if case .object(let traits) = self.traits { user = traits }
        user["user_id"] = .string(self.userID)
        members["user"] = .object(user)
        members["connection"] = .object(["name": .string(self.provider)])
        members["session"] = self.actor.map { .object(["actor": .object(["sub": .string($0)])]) }
        members["client"] = self.clientID.map { .object(["client_id": .string($0)]) }
        if let exchange = self.exchange {
            members["resource_server"] = exchange.audience.map { .object(["identifier": .string($0)]) }
            members["transaction"] = .object(["requested_scopes": .array(exchange.scopes.map(JSONValue.string))])
        }
        return .object(members)
    }

    /// Returns `host` of `host[:port]`. An IPv6 address keeps its brackets (RFC 3986 3.2.2).
    private static func hostname(_ authority: String) -> String {
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        return String(authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)])
    }

    private static func members(of request: Request, _ places: GeoDirectory?) -> [String: JSONValue] {
        var members: [String: JSONValue] = ["ip": .string(request.address.description)]
        // Auth0's event has the number as a text.
        members["asn"] = request.asn.map { .string(String($0)) }
        members["user_agent"] = request.userAgent.map(JSONValue.string)
        members["geoip"] = places?.place(of: request.address)?.event
        members["client_certificate"] = request.certificate?.event
        return members
    }
}

extension Place {
    /// The value of `geoip` in an event.
    package var event: JSONValue {
        let texts = [
            "cityName": self.cityName, "continentCode": self.continentCode, "countryCode": self.countryCode,
            "countryName": self.countryName, "subdivisionCode": self.subdivisionCode,
            "subdivisionName": self.subdivisionName, "timeZone": self.timeZone,
        ]
        var members = texts.compactMapValues { $0.map(JSONValue.string) }
        members["latitude"] = self.latitude.map(JSONValue.number)
        members["longitude"] = self.longitude.map(JSONValue.number)
        return .object(members)
    }
}
