extension BuiltIn {
  static let german = [
    "phone_code": """
      Subject: Ihr Code

      Ihr Code ist {{code}}. Er gilt {{lifetime}}. Geben Sie ihn nicht weiter.
      """,
    "second_factor_code": """
      Subject: Ihr Code

      Ihr Code zur Anmeldung ist {{code}}. Er gilt {{lifetime}}. Geben Sie ihn nicht weiter.
      """,
    "email_link": """
      Subject: Anmeldung

      Mit diesem Link können Sie sich anmelden:

      {{link}}

      Er gilt einmal, {{lifetime}} lang. Haben Sie ihn nicht angefordert, tun Sie nichts: Niemand ist angemeldet.
      """,
    "sign_up": """
      Subject: Registrierung abschließen

      Sie können die Registrierung als {{to}} hier abschließen:

      {{link}}

      Der Link gilt einmal, {{lifetime}} lang. Haben Sie ihn nicht angefordert, tun Sie nichts: Es gibt kein Konto.
      """,
    "sign_up_known": """
      Subject: Sie haben schon ein Konto

      Jemand wollte sich als {{to}} registrieren. Mit dieser Adresse gibt es schon ein Konto; ein neues wurde nicht
      angelegt. Waren Sie es, melden Sie sich an, oder setzen Sie ein neues Passwort.
      """,
    "sign_in_methods": """
      Subject: So melden Sie sich an

      Jemand, der sich mit {{provider_id}} anmeldet, nannte {{to}} als seine Adresse, und das ist die Ihres Kontos.
      Waren Sie es, melden Sie sich an wie sonst; danach kann {{provider_id}} Ihrem Konto hinzugefügt werden:

      {{methods}}

      Waren Sie es nicht, tun Sie nichts: Ihr Konto ist, wie es war.
      """,
    "verify_email": """
      Subject: Bestätigen Sie Ihre Adresse

      Bitte bestätigen Sie, dass {{to}} Ihre Adresse ist:

      {{link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts.
      """,
    "reset_password": """
      Subject: Neues Passwort

      Sie können ein neues Passwort für {{to}} setzen:

      {{link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts: Ihr Passwort bleibt.
      """,
    "change_email": """
      Subject: Bestätigen Sie Ihre neue Adresse

      Bitte bestätigen Sie, dass {{to}} die Adresse Ihres Kontos werden soll:

      {{link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts.
      """,
  ].merging(germanCodes) { $1 }.merging(germanNotices) { $1 }

  private static let germanCodes = [
    "invitation": """
      Subject: Sie sind eingeladen

      Für {{to}} gibt es ein Konto. Hier können Sie es zum ersten Mal benutzen:

      {{link}}

      Das geht einmal, {{lifetime}} lang. Wollen Sie das Konto nicht, tun Sie nichts.
      """,
    "email_code": """
      Subject: Ihr Code

      Ihr Code ist {{code}}. Geben Sie ihn nur dort ein, wo Sie ihn angefordert haben, und sonst niemandem.
      {{#link}}

      Oder nehmen Sie diesen Link:

      {{link}}
      {{/link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts.
      """,
    "sign_up_code": """
      Subject: Registrierung abschließen

      Ihr Code für die Registrierung als {{to}} ist {{code}}. Geben Sie ihn nur dort ein, wo Sie ihn angefordert haben,
      und sonst niemandem.
      {{#link}}

      Oder nehmen Sie diesen Link:

      {{link}}
      {{/link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts: Es gibt kein Konto.
      """,
    "verify_email_code": """
      Subject: Bestätigen Sie Ihre Adresse

      Ihr Code, mit dem Sie {{to}} als Ihre Adresse bestätigen, ist {{code}}. Geben Sie ihn nur dort ein, wo Sie ihn
      angefordert haben, und sonst niemandem.
      {{#link}}

      Oder nehmen Sie diesen Link:

      {{link}}
      {{/link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts.
      """,
    "reset_password_code": """
      Subject: Neues Passwort

      Ihr Code für ein neues Passwort von {{to}} ist {{code}}. Geben Sie ihn nur dort ein, wo Sie ihn angefordert
      haben, und sonst niemandem.
      {{#link}}

      Oder nehmen Sie diesen Link:

      {{link}}
      {{/link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts: Ihr Passwort bleibt.
      """,
    "change_email_code": """
      Subject: Bestätigen Sie Ihre neue Adresse

      Ihr Code, mit dem {{to}} die Adresse Ihres Kontos wird, ist {{code}}. Geben Sie ihn nur dort ein, wo Sie ihn
      angefordert haben, und sonst niemandem.
      {{#link}}

      Oder nehmen Sie diesen Link:

      {{link}}
      {{/link}}

      Das geht einmal, {{lifetime}} lang. Haben Sie es nicht angefordert, tun Sie nichts.
      """,
  ]

  private static let germanNotices = [
    "linked": """
      Subject: Ein neuer Weg zur Anmeldung

      Mit {{provider_id}} kann man sich nun an Ihrem Konto anmelden. Waren Sie es nicht, melden Sie sich an und
      entfernen Sie diesen Weg.
      """,
    "unlinked": """
      Subject: Ein Weg zur Anmeldung wurde entfernt

      Mit {{provider_id}} kann man sich an Ihrem Konto nicht mehr anmelden. Waren Sie es nicht, melden Sie sich an und
      prüfen Sie die Wege, die noch da sind.
      """,
    "email_changed": """
      Subject: Die Adresse Ihres Kontos wurde geändert

      Die Adresse Ihres Kontos wurde geändert{{#new_email}}, zu {{new_email}}{{/new_email}}.
      {{#link}}
      Waren Sie es nicht, machen Sie es hier rückgängig:

      {{link}}
      {{/link}}
      """,
    "password_changed": """
      Subject: Ihr Passwort wurde geändert

      Das Passwort Ihres Kontos wurde geändert. Waren Sie es nicht, setzen Sie es sofort neu.
      """,
    "factor_enrolled": """
      Subject: Ein zweiter Faktor ist dazugekommen

      Ein zweiter Faktor ({{factor}}) gehört nun zu Ihrem Konto. Waren Sie es nicht, ändern Sie Ihr Passwort. Können \
      Sie sich nicht anmelden, lassen Sie den Faktor vom Kundendienst entfernen.
      """,
    "factor_withdrawn": """
      Subject: Ein zweiter Faktor wurde entfernt

      Ein zweiter Faktor ({{factor}}) gehört nicht mehr zu Ihrem Konto. Waren Sie es nicht, ändern
      Sie Ihr Passwort und fügen Sie ihn wieder hinzu.
      """,
    "address_detached": """
      Subject: Eine Adresse gehört nicht mehr zu Ihrem Konto

      {{email}} gehört nicht mehr zu Ihrem Konto: Es hat sich gezeigt, dass die Adresse jemand anderem gehört.
      """,
    "merged": """
      Subject: Aus zwei Konten wurde eines

      Ein anderes Konto ist in Ihrem aufgegangen. Waren Sie es nicht, ändern Sie Ihr Passwort und prüfen Sie die Wege
      zur Anmeldung.
      """,
  ]
}
