/// Common passwords, which attackers guess first and no account may use. All of them meet the minimum length. The
/// comparison ignores case.
package struct CommonPasswords: Sendable {
  private let words: Set<String>

  package init() { words = Set(CommonPasswords.list.split(whereSeparator: \.isWhitespace).map(String.init)) }

  package func contains(_ password: String) -> Bool {
    let lower = password.lowercased()
    return words.contains(lower) || CommonPasswords.isTrivial(lower)
  }

  /// Whether the text repeats one character, or is an ascending or descending run of letters or digits.
  private static func isTrivial(_ text: String) -> Bool {
    let scalars = text.unicodeScalars.map { Int($0.value) }
    let steps = zip(scalars, scalars.dropFirst()).map { $1 - $0 }
    guard let first = steps.first, abs(first) <= 1 else { return steps.isEmpty }
    return steps.allSatisfy { $0 == first }
  }

  private static let list = """
    password password1 password12 password123 password1234 password12345 passw0rd passw0rd1 p@ssword p@ssw0rd p@ssw0rd1
    pa$$word pa$$w0rd pass1234 pass12345 passpass passwort passwort1 mypassword yourpassword thepassword newpassword
    changeme changeme1 changeme123 changeit letmein1 letmein12 letmein123 welcome1 welcome12 welcome123 welcome1234
    qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwerty12345 qwertyqwerty qwertz123 qwertzui azertyui azertyuiop
    azerty123 1qaz2wsx 1qaz2wsx3edc 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y q1w2e3r4 q1w2e3r4t5 qazwsxedc qazwsx123 zaq12wsx
    zaq1zaq1 zxcvbnm1 zxcvbnm123 asdfghjk asdfghjkl asdf1234 asdfasdf asdasdasd qweasdzxc qweqweqwe 123qweasd 123qwe123
    qwe123qwe 12qwaszx 12345678 123456789 1234567890 12345678910 0123456789 01234567 87654321 987654321 9876543210
    11223344 1122334455 123123123 123321123 12341234 12344321 123454321 147258369 159753456 159357456 789456123
    741852963 963852741 321654987 456123789 112233445566 11112222 12121212 123456123 1234567a 12345678a 123456789a
    1234567q 12345678q 123456789q a1234567 a12345678 a123456789 abcd1234 abcd12345 abc12345 abc123456 abc123abc
    abcabc123 aa123456 aa12345678 aaa12345 asd12345 asd123456 zxc12345 q1234567 qq123456 admin123 admin1234 admin12345
    adminadmin administrator administrator1 root1234 rootroot toortoor test1234 test12345 testtest testing1 testing123
    tester123 guest123 guest1234 user1234 user12345 default1 temp1234 temporary secret12 secret123 secret1234 topsecret
    master12 master123 masterkey iloveyou iloveyou1 iloveyou12 iloveyou2 iloveyou123 loveyou1 iloveu12 lovelove
    lovelove1 mylove123 babygirl babygirl1 princess princess1 princess123 sunshine sunshine1 sunshine123 superman
    superman1 superman123 batman123 spiderman spiderman1 starwars starwars1 football football1 football123 baseball
    baseball1 baseball123 basketball basketball1 softball hockey123 soccer12 soccer123 liverpool liverpool1 chelsea1
    chelsea123 arsenal1 arsenal123 barcelona barcelona1 realmadrid juventus manchester manutd123 steelers cowboys1
    yankees1 lakers24 jordan23 michael1 michael123 michelle michelle1 jennifer jennifer1 jessica1 jessica123 charlie1
    charlie123 thomas123 robert123 daniel123 andrew123 joshua123 matthew1 anthony1 william1 nicholas nicole123 ashley123
    amanda123 samantha samantha1 elizabeth elizabeth1 victoria victoria1 alexander alexander1 alexandra christian
    christian1 christopher jonathan jonathan1 benjamin benjamin1 patricia veronica fernando francisco gabriela valentina
    sebastian sebastian1 stephanie stephanie1 danielle danielle1 brittany brittany1 courtney madison1 computer computer1
    computer123 internet internet1 internet123 samsung1 samsung123 iphone123 android1 windows1 windows10 microsoft
    microsoft1 google123 facebook facebook1 facebook123 twitter1 instagram youtube1 linkedin pokemon1 pokemon123
    minecraft minecraft1 minecraft123 fortnite fortnite1 playstation nintendo nintendo1 blink182 metallica metallica1
    slipknot slipknot1 nirvana1 eminem123 whatever whatever1 trustno1 trustnoone dragon12 dragon123 monkey12 monkey123
    shadow12 shadow123 tigger12 tigger123 butterfly butterfly1 elephant elephant1 dolphins dolphin1 flowers1 flower123
    rainbow1 rainbow123 chocolate chocolate1 cheesecake cupcake1 cookie123 banana123 orange123 purple123 yellow123
    silver123 diamond1 diamonds platinum mercedes mercedes1 corvette mustang1 mustang123 ferrari1 porsche911 harley123
    yamaha123 december december1 november november1 september september1 january1 february summer12 summer123 summer2020
    summer2021 summer2022 summer2023 summer2024 summer2025 winter12 winter123 winter2020 winter2021 winter2022
    winter2023 winter2024 winter2025 spring123 autumn123 monday123 friday123 freedom1 freedom123 america1 california
    newyork1 australia scotland ireland1 germany1 deutschland frankreich schalke04 schatz123 hallo123 hallo1234
    hallowelt passwort123 passwort12 fussball fussball1 motdepasse bonjour1 bonjour123 chouchou doudou123 soleil123
    contraseña contrasena teamo123 tequiero estrella mariposa mariposa1 senha123 senha1234 wachtwoord welkom01 welkom123
    haslo1234 qwerty123456 qwerty1! password! password1! p@ssword1 p@ssword123 admin@123 welcome@123 test@123 abc@1234
    pass@123 pass@1234 india@123 krishna1 jaimatadi sairam123 ganesh123 lakshmi1 bismillah bismillah1 allah123 jesus123
    jesuschrist blessed1 blessing1 blessings godisgood godislove heaven123 angel123 angels12 forever1 forever21 friends1
    friends123 family123 mother123 daddy123 mommy123 baby1234 sweetheart sweetie1 sweetpea honey123 buttercup cinderella
    snowball1 snoopy123 scooby123 mickey123 garfield1 nothing1 something unknown1 anonymous incorrect qwerty!@# !@#$%^&*
    !qaz2wsx !qaz@wsx 1234qwer 1234asdf 123456qwerty qwer1234 qwer12345 qwertyu1 asdfg123 zxcvbnm, access14 access123
    hunter12 hunter123 killer12 killer123 ranger12 thunder1 phoenix1 phantom1 warrior1 gangster gangsta1 blackjack
    casino123 pass4word letmeinplease letmeinnow opensesame opensesame1 swordfish firewall correcthorsebatterystaple
    latchkey latchkey1
    """
}
