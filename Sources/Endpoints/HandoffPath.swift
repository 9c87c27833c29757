/// The path of the page that asks the user to confirm a sign-in by a link, on every host.
package enum HandoffPath {
    package static let path = "/.sallyport/handoff"
}
