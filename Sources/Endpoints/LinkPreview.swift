/// The programs of messengers and social networks that open a link to show a preview of its page. They fetch it like a
/// browser without Fetch Metadata, and must not use up a transfer token that is meant for the user who follows the link.
package enum LinkPreview {
    /// Parts of their `User-Agent`. No browser names itself so, those inside these apps included.
    private static let names: [[UInt8]] = [
        "Slackbot", "Twitterbot", "facebookexternalhit", "WhatsApp/", "TelegramBot", "Discordbot", "LinkedInBot",
        "SkypeUriPreview", "redditbot", "Pinterestbot", "Mattermost-Bot", "Iframely", "Embedly", "vkShare",
        "BingPreview",
    ].map { Array($0.utf8) }

    /// Whether one of them sent the request.
    package static func isFetch(userAgent: some Collection<UInt8>) -> Bool {
        let bytes = Array(userAgent.prefix(512))
        return self.names.contains { name in
            bytes.indices.contains { bytes[$0...].starts(with: name) }
        }
    }
}
